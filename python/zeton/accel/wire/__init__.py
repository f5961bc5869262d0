"""How requests and responses look in memory and on wires.

* `texts`: texts as callers give them, as bytes without specials, in batches.
* `words`: texts become frames, words become ids.
* `packets`: packets, and their framing on links that cut a stream anywhere.
* `link`: a card by its registers and streams, for any transport.
* `messages`: the protocol of `tcp:HOST:PORT`.
* `bar`: the memory of `pci:PATH`.
"""
