"""Training against rustbpe: CPU seconds and the median ratio, merges compared."""

import sys
import time
from statistics import median

import rustbpe

import jeton
from texts import groups, table

ROUNDS = 3
VOCAB_SIZE = 32_768


def main(arguments: list[str]) -> None:
    rows = []
    for group, texts in groups(arguments).items():
        rounds = []
        for _ in range(ROUNDS):
            start = time.process_time()
            tok = jeton.train(texts, VOCAB_SIZE)
            middle = time.process_time()
            peer = rustbpe.Tokenizer()
            peer.train_from_iterator(iter(texts), VOCAB_SIZE, pattern=tok.pattern)
            rounds.append((middle - start, time.process_time() - middle))
        if tok.ranks() != {bytes(token): rank for token, rank in peer.get_mergeable_ranks()}:
            sys.exit(f"the merges differ from rustbpe's on {group}")
        ours, theirs = (median(times) for times in zip(*rounds, strict=True))
        ratio = median(b / a for a, b in rounds)
        megabytes = sum(len(text.encode()) for text in texts) / 1e6
        rows.append([group, f"{megabytes:.1f}", f"{ours:.2f}", f"{theirs:.2f}", f"{ratio:.2f}"])
    table(["texts", "MB", "jeton", "rustbpe", "ratio"], rows)


if __name__ == "__main__":
    main(sys.argv[1:])
