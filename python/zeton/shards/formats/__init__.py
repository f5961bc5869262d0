"""How a shard is written: a file a format, each with its header, its suffix and its dtype."""

from zeton.shards.formats.bare import BARE
from zeton.shards.formats.format import Format, Shard
from zeton.shards.formats.llmc import LLMC
from zeton.shards.formats.megatron import MEGATRON
from zeton.shards.formats.npy import NPY
from zeton.shards.formats.parquet import PARQUET

__all__ = ["FORMATS", "Format", "Shard"]

FORMATS: dict[str, Format] = {
    "npy": NPY,
    "bin": BARE,
    "megatron": MEGATRON,
    "llmc": LLMC,
    "parquet": PARQUET,
}
