"""Build the bundled vocabularies from OpenAI's published files.

usage: build_vocabs.py FOLDER    (a folder with r50k_base.tiktoken, p50k_base.tiktoken, …)

Writes python/zeton/vocabs/NAME.zeton. Refuses a file that is not the published one.
"""

import sys
from pathlib import Path

import zeton
from zeton._engine import from_ranks, to_file
from zeton.tiktoken.load import load_tiktoken_bpe
from zeton.tiktoken.published_files import DIGESTS

ROOT = Path(__file__).parent.parent
VOCABS = ROOT / "python" / "zeton" / "vocabs"

CL100K_SPECIALS = {
    "<|endoftext|>": 100257,
    "<|fim_prefix|>": 100258,
    "<|fim_middle|>": 100259,
    "<|fim_suffix|>": 100260,
    "<|endofprompt|>": 100276,
}
# The name of its pattern in tests/vectors/patterns.txt, and its specials.
SOURCES = {
    "r50k_base": ("gpt2", {"<|endoftext|>": 50256}),
    "p50k_base": ("gpt2", {"<|endoftext|>": 50256}),
    "cl100k_base": ("cl100k", CL100K_SPECIALS),
    "o200k_base": ("o200k", {"<|endoftext|>": 199999, "<|endofprompt|>": 200018}),
}


def patterns() -> dict[str, str]:
    """Read the published patterns by name."""
    lines = (ROOT / "tests" / "vectors" / "patterns.txt").read_text().splitlines()
    named = (line.partition(": ") for line in lines if not line.startswith("#"))
    return {name: pattern for name, _, pattern in named}


def main(folder: Path) -> None:
    """Build every file."""
    VOCABS.mkdir(exist_ok=True)
    known = patterns()
    for name, (pattern, specials) in SOURCES.items():
        source = folder / f"{name}.tiktoken"
        digest = DIGESTS[source.name]
        ranks = load_tiktoken_bpe(source, digest)
        notes = {"source": f"OpenAI, {source.name}", "source.sha256": digest}
        engine = from_ranks(ranks, known[pattern], list(specials.items()), notes)
        (VOCABS / f"{name}.zeton").write_bytes(to_file(engine))
        print(f"{name}.zeton: {len(ranks)} tokens")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        main(Path(sys.argv[1]))
    except zeton.Error as error:
        sys.exit(str(error))
