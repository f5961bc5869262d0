"""Build the bundled vocabularies from OpenAI's published files.

usage: build_vocabs.py FOLDER    (a folder with r50k_base.tiktoken, p50k_base.tiktoken, …)

Writes python/jeton/vocabs/NAME.jeton. Refuses a file whose SHA-256 is not the one in NOTICE.
"""

import base64
import hashlib
import sys
from pathlib import Path

from jeton._engine import from_ranks

ROOT = Path(__file__).parent.parent
VOCABS = ROOT / "python" / "jeton" / "vocabs"

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


def digests() -> dict[str, str]:
    """Read the SHA-256 of every original from NOTICE."""
    lines = (line.split() for line in (ROOT / "NOTICE").read_text().splitlines())
    return {words[1]: words[0] for words in lines if len(words) == 2 and len(words[0]) == 64}


def main(folder: Path) -> None:
    """Build every file."""
    expected = digests()
    VOCABS.mkdir(exist_ok=True)
    known = patterns()
    for name, (pattern, specials) in SOURCES.items():
        source = folder / f"{name}.tiktoken"
        content = source.read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        if digest != expected[source.name]:
            sys.exit(f"{source} has SHA-256 {digest}, not the one in NOTICE")
        lines = (line.split() for line in content.splitlines())
        ranks = {base64.b64decode(token, validate=True): int(rank) for token, rank in lines}
        notes = {"source": f"OpenAI, {source.name}", "source.sha256": digest}
        engine = from_ranks(ranks, known[pattern], list(specials.items()), notes)
        (VOCABS / f"{name}.jeton").write_bytes(engine.to_file())
        print(f"{name}.jeton: {len(ranks)} tokens")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
