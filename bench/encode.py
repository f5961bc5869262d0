"""Encoding and decoding against tiktoken: MB per CPU second, and the median ratio."""

import sys
import time
from collections.abc import Callable
from statistics import median

import zeton
from texts import groups, table

ROUNDS = 5
OWN_VOCAB_SIZE = 32_768


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def compare(
    megabytes: float, ours: Callable[[], object], theirs: Callable[[], object]
) -> list[str]:
    """Run both in turns; return zeton's rate, tiktoken's rate and their ratio."""
    rounds = [(seconds(ours), seconds(theirs)) for _ in range(ROUNDS)]
    rates = [megabytes / median(times) for times in zip(*rounds, strict=True)]
    return [*(f"{rate:.1f}" for rate in rates), f"{median(b / a for a, b in rounds):.2f}"]


def measure(tok: zeton.Tokenizer, texts: list[str]) -> list[str]:
    """Compare on one large text, on many texts, and in decoding."""
    encoding = tok.as_tiktoken()
    whole = "\n".join(texts)
    ids = tok.encode(whole)
    if ids != encoding.encode_ordinary(whole):
        sys.exit(f"{tok} differs from tiktoken on {whole[:40]!r}…")

    def by_zeton() -> list[list[int]]:
        return [tok.encode(text) for text in texts]

    def by_tiktoken() -> list[list[int]]:
        return [encoding.encode_ordinary(text) for text in texts]

    if by_zeton() != by_tiktoken() or tok.decode(ids) != encoding.decode(ids):
        sys.exit(f"{tok} differs from tiktoken text by text or in decoding")
    megabytes = len(whole.encode()) / 1e6
    return [
        *compare(megabytes, lambda: tok.encode(whole), lambda: encoding.encode_ordinary(whole)),
        *compare(megabytes, by_zeton, by_tiktoken),
        *compare(megabytes, lambda: tok.decode(ids), lambda: encoding.decode(ids)),
    ]


def main(arguments: list[str]) -> None:
    texts = groups(arguments)
    everything = [text for group in texts.values() for text in group]
    tokenizers = {name: zeton.pretrained(name) for name in ("gpt2", "cl100k_base", "o200k_base")}
    tokenizers["own 32k"] = zeton.train(everything, vocab_size=OWN_VOCAB_SIZE)
    rows = [
        [name, group, *measure(tok, many)]
        for name, tok in tokenizers.items()
        for group, many in texts.items()
    ]
    head = ["vocabulary", "texts"]
    for job in ("one text", "text by text", "decode"):
        head += [f"{job}: zeton", "tiktoken", "ratio"]
    table(head, rows)


if __name__ == "__main__":
    main(sys.argv[1:])
