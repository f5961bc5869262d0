"""The lengths of pieces: the cumulative share by number of bytes."""

import sys
from collections import Counter

import zeton
from texts import groups, table

BOUNDS = [4, 8, 13, 16, 32, 64, 128]


def main(arguments: list[str]) -> None:
    tok = zeton.pretrained("cl100k_base")
    rows = []
    for group, texts in groups(arguments).items():
        lengths = Counter(len(piece) for text in texts for piece in tok.split(text))
        total = lengths.total()
        shares = [sum(n for length, n in lengths.items() if length <= b) / total for b in BOUNDS]
        mean = sum(length * n for length, n in lengths.items()) / total
        rows.append([group, f"{mean:.2f}", *(f"{share:.2%}" for share in shares)])
    table(["texts", "mean bytes", *(f"≤ {bound}" for bound in BOUNDS)], rows)


if __name__ == "__main__":
    main(sys.argv[1:])
