"""The cost of rules in encoding: `python bench/rules_speed.py [FILE]`, a minute.

One text is encoded by one vocabulary, with its own pattern and with rules in turns, on one thread.
The figure is the CPU time with the pattern divided by the CPU time with rules. The beginning of the
text is verified against the specification.
"""

import argparse
import json
import re
import time
from collections import Counter
from pathlib import Path
from typing import Final

import zeton
from texts import given, table
from zeton import Rules, reference_rules
from zeton.corpus import texts
from zeton.rules import Isolate

ROUNDS = 3
TEXT_BYTES = 20_000_000
VERIFIED_CHARACTERS = 1_000
WORDS = 10_000
BASE: Final = "cl100k"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="*", type=Path)
    (file,) = given(parser.parse_args().file[:1], "large/enwik8.txt.xz")
    _, content = next(iter(texts([file])))
    text = content[:TEXT_BYTES].decode("utf-8", "ignore")
    measured = {"pattern": zeton.pretrained("cl100k_base")}
    for name, rules in kinds(text).items():
        measured[name] = zeton.Tokenizer(measured["pattern"].ranks(), rules=rules)
        verify(measured[name], rules, text[:VERIFIED_CHARACTERS])
    took = dict.fromkeys(measured, float("inf"))
    for _ in range(ROUNDS):
        for name, tok in measured.items():
            start = time.process_time()
            tok.encode_array(text, threads=1)
            took[name] = min(took[name], time.process_time() - start)
    rows = [
        [name, f"{len(text.encode()) / seconds / 1e6:.0f}", f"{took['pattern'] / seconds:.2f}"]
        for name, seconds in took.items()
    ]
    table(["rules", "MB/s", "of the pattern's speed"], rows)


def kinds(text: str) -> dict[str, Rules]:
    """Return the rules that are measured."""
    words = [word for word, _ in Counter(re.findall(r"[A-Za-z]{5,}", text)).most_common(60_000)]
    return {
        "knobs of the family": Rules(base=BASE, digits=1, marks=True, newlines="apart"),
        "digits from the right": Rules(base=BASE, digits=3, digits_from="right"),
        'case="words"': Rules(base=BASE, case="words"),
        'underscores="alone"': Rules(base=BASE, underscores="alone"),
        "scripts": Rules(base=BASE, scripts=True),
        'underscores="letter"': Rules(base=BASE, underscores="letter"),
        "a literal": Rules(base=BASE, keep=["New York"]),
        "10,000 words that are not there": Rules(
            base=BASE, keep_words=[f"gene{number}x" for number in range(WORDS)]
        ),
        "10,000 words, one in ten of the text's": Rules(
            base=BASE, keep_words=words[2_000::5][:WORDS]
        ),
        "the 10,000 commonest words": Rules(base=BASE, keep_words=words[:WORDS]),
        "dates, as whole words": Rules(
            base=BASE, isolate=[Isolate(r"\d{4}-\d\d-\d\d", whole_word=True)]
        ),
    }


def verify(tok: zeton.Tokenizer, rules: Rules, text: str) -> None:
    """Exit if a text's ids differ from the specification's."""
    expected = reference_rules.encode(text, tok.ranks(), json.loads(rules.spelled))
    if tok.encode(text) != expected:
        raise SystemExit(f"{rules} encodes otherwise than the specification")


if __name__ == "__main__":
    main()
