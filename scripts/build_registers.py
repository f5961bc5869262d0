"""Build the files derived from rtl/registers.rdl: the register block, its page, its Python names.

usage: build_registers.py [FOLDER]    (the folder of the files; by default the project's own)
"""

import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from peakrdl_markdown import MarkdownExporter
from peakrdl_regblock import RegblockExporter
from peakrdl_regblock.cpuif.passthrough import PassthroughCpuif
from peakrdl_regblock.udps import ALL_UDPS
from systemrdl.compiler import RDLCompiler
from systemrdl.node import AddrmapNode, FieldNode, RegfileNode, RegNode

ROOT = Path(__file__).parent.parent
SOURCE = Path("rtl/registers.rdl")
BLOCK = Path("rtl/generated")
PAGE = Path("docs/accelerator-registers.md")
NAMES = Path("python/zeton/accel/registers.py")

PAGE_START = """\
# The accelerator's registers

Generated from `rtl/registers.rdl` by `scripts/build_registers.py`; change them there.

"""

NAMES_START = '''\
"""The accelerator's registers: addresses, and where the fields are in their words.

Generated from `rtl/registers.rdl` by `scripts/build_registers.py`; change them there.
"""

from typing import Final, NamedTuple


class Field(NamedTuple):
    """Some bits of a register."""

    low: int
    """The lowest of its bits."""
    width: int
    reset: int = 0
    """Its value after power-on; of what never changes, its value."""

    def of(self, word: int) -> int:
        """Return the field's value in a register's word."""
        return word >> self.low & (1 << self.width) - 1

    def put(self, value: int) -> int:
        """Return a register's word that has this value in the field and zeros elsewhere."""
        return (value & (1 << self.width) - 1) << self.low
'''


def main(root: Path) -> None:
    """Write all of them below a folder."""
    for path in (BLOCK / "x", PAGE, NAMES):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
    registers = compiled()
    # The block's types have the names of their registers; the bus is ours (rtl/bus.sv). Read data
    # passes two registers more, because the many counters are far from the bus.
    RegblockExporter().export(
        registers,
        str(root / BLOCK),
        cpuif_cls=PassthroughCpuif,
        reuse_hwif_typedefs=False,
        retime_read_fanin=True,
        retime_read_response=True,
    )
    MarkdownExporter().export(registers, str(root / PAGE))
    page = (root / PAGE).read_text()
    _, _, body = page.partition("-->\n\n")
    _, _, body = body.partition("\n\n")  # Replace the generated title by our own.
    (root / PAGE).write_text(PAGE_START + body)
    (root / NAMES).write_text("\n".join((NAMES_START, *names(registers))) + "\n")


def compiled() -> AddrmapNode:
    """Compile the registers."""
    compiler = RDLCompiler()
    for definition in ALL_UDPS:
        compiler.register_udp(definition, soft=False)
    compiler.compile_file(str(ROOT / SOURCE))
    return compiler.elaborate().top


def names(registers: AddrmapNode) -> Iterator[str]:
    """Yield the lines of Python: each register's address and fields, then the counters."""
    counters = [node for node in registers.children() if isinstance(node, RegfileNode)]
    for register in registers.registers():
        name = register.inst_name
        yield ""
        yield f"{name}: Final = 0x{register.absolute_address:02X}"
        yield from docstring(register)
        for field in register.fields():
            yield f"{name}_{field.inst_name.upper()}: Final = {placed(field)}"
            yield from docstring(field)
    yield ""
    yield "COUNTERS: Final = {"
    for counter in counters:
        yield f'    "{counter.inst_name.lower()}": 0x{counter.absolute_address:02X},'
    yield "}"
    yield '"""The counters by name: the address of the low half; the high half comes after it."""'


def placed(field: FieldNode) -> str:
    """Return the position of a field."""
    reset = int(field.get_property("reset") or 0)
    if not reset:
        return f"Field({field.low}, {field.width})"
    return f"Field({field.low}, {field.width}, {reset if reset < 10 else f'0x{reset:X}'})"


def docstring(node: RegNode | FieldNode) -> Iterator[str]:
    """Yield a description as the lines of a docstring, wrapped."""
    yield from textwrap.wrap(f'"""{node.get_property("desc")}"""', 100, break_long_words=False)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]) if len(sys.argv) == 2 else ROOT)
