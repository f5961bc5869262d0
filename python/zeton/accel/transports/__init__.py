"""Ways to a card: a `Transport` for each, opened by a name.

| name | module | the card |
|---|---|---|
| `sim` | `sim`, `build` | the RTL as a program in this process |
| `reference` | `zeton.accel.reference` | the specification in Python |
| `nodes:PREFIX` | `nodes` | behind the character devices of XDMA's driver |
| `pci:PATH` | `pci` | behind the BAR of a PCI function |
| `uart:PATH` | `uart` | on a board behind a serial port |
| `tcp:HOST:PORT` | `tcp` | in another machine |

`card_server` and `fake_card` serve any transport to another process. `faults` injects faults.
"""
