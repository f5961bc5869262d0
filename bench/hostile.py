"""The time of a megabyte of hostile text relative to a megabyte of English."""

import base64
import random
import sys
import time

import zeton
from texts import groups, table

SIZE = 1_000_000
ROUNDS = 3


def hostile() -> dict[str, str]:
    chance = random.Random(1)  # noqa: S311
    letters = "abcdefghijklmnopqrstuvwxyz"
    return {
        "a": "a" * SIZE,
        "spaces": " " * SIZE,
        "spaces, x": " " * SIZE + "x",
        "newlines, x": "\n" * SIZE + "x",
        "one Han": "中" * (SIZE // 3),
        "base64": base64.b64encode(chance.randbytes(SIZE * 3 // 4)).decode(),
        "random letters": "".join(chance.choices(letters, k=SIZE)),
        "random Han": "".join(chr(chance.randint(0x4E00, 0x9FA5)) for _ in range(SIZE // 3)),
        "dots": "." * SIZE,
        "ACGT": "".join(chance.choices("ACGT", k=SIZE)),
    }


def main() -> None:
    english = "".join(groups(sys.argv[1:]).get("en", ["It was the best of times. " * 50_000]))
    cases = {"English": english[:SIZE]} | hostile()
    rows = []
    for name in ("gpt2", "cl100k_base", "o200k_base"):
        tok = zeton.pretrained(name)
        times = []
        for text in cases.values():
            if tok.decode(tok.encode(text)) != text:
                sys.exit(f"{name} does not give a text back")
            rounds = []
            for _ in range(ROUNDS):
                start = time.process_time()
                tok.encode_array(text)
                rounds.append(time.process_time() - start)
            times.append(min(rounds))
        rows.append(
            [name, f"{times[0] * 1000:.0f} ms", *(f"{t / times[0]:.1f}" for t in times[1:])]
        )
    table(["vocabulary", *cases], rows)


if __name__ == "__main__":
    main()
