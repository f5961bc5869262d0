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

R50K_PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
CL100K_PATTERN = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
O200K_PATTERN = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
CL100K_SPECIALS = {
    "<|endoftext|>": 100257,
    "<|fim_prefix|>": 100258,
    "<|fim_middle|>": 100259,
    "<|fim_suffix|>": 100260,
    "<|endofprompt|>": 100276,
}
SOURCES = {
    "r50k_base": (R50K_PATTERN, {"<|endoftext|>": 50256}),
    "p50k_base": (R50K_PATTERN, {"<|endoftext|>": 50256}),
    "cl100k_base": (CL100K_PATTERN, CL100K_SPECIALS),
    "o200k_base": (O200K_PATTERN, {"<|endoftext|>": 199999, "<|endofprompt|>": 200018}),
}


def digests() -> dict[str, str]:
    """Read the SHA-256 of every original from NOTICE."""
    lines = (line.split() for line in (ROOT / "NOTICE").read_text().splitlines())
    return {words[1]: words[0] for words in lines if len(words) == 2 and len(words[0]) == 64}


def main(folder: Path) -> None:
    """Build every file."""
    expected = digests()
    VOCABS.mkdir(exist_ok=True)
    for name, (pattern, specials) in SOURCES.items():
        source = folder / f"{name}.tiktoken"
        content = source.read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        if digest != expected[source.name]:
            sys.exit(f"{source} has SHA-256 {digest}, not the one in NOTICE")
        lines = (line.split() for line in content.splitlines())
        ranks = {base64.b64decode(token, validate=True): int(rank) for token, rank in lines}
        notes = {"source": f"OpenAI, {source.name}", "source.sha256": digest}
        engine = from_ranks(ranks, pattern, list(specials.items()), notes)
        (VOCABS / f"{name}.jeton").write_bytes(engine.to_file())
        print(f"{name}.jeton: {len(ranks)} tokens")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
