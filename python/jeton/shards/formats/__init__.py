"""How a shard is written: a file a format, each with its header, its suffix and its dtype."""

from jeton.shards.formats.bare import BARE
from jeton.shards.formats.format import Format, Shard
from jeton.shards.formats.llmc import LLMC
from jeton.shards.formats.megatron import MEGATRON
from jeton.shards.formats.npy import NPY, npy_header
from jeton.shards.formats.parquet import PARQUET

__all__ = ["FORMATS", "Format", "Shard", "npy_header"]

FORMATS: dict[str, Format] = {
    "npy": NPY,
    "bin": BARE,
    "megatron": MEGATRON,
    "llmc": LLMC,
    "parquet": PARQUET,
}
