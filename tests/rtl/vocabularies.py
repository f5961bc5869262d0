"""Draws small vocabularies whose every token is reached by merges, as a card needs them."""

import random

from zeton import Tokenizer

PIECE = "(?s).+"
LETTERS = b"abcdef"


def draw_tokenizer(rng: random.Random, tokens: int = 120, pattern: str = PIECE) -> Tokenizer:
    """Draw a tokenizer of 256 bytes and some tokens of few letters, so that much merges."""
    learned = [bytes([byte]) for byte in rng.sample(LETTERS, 4)]
    while len(learned) < tokens:
        token = rng.choice(learned) + rng.choice(learned)
        if token not in learned and len(token) <= 12:
            learned.append(token)
    while True:
        known = [bytes([byte]) for byte in range(256)] + [t for t in learned if len(t) > 1]
        tokenizer = Tokenizer({token: id_ for id_, token in enumerate(known)}, pattern=pattern)
        reached = {known[id_] for id_ in tokenizer.merges().values()}
        if len(reached) == len(known) - 256:
            return tokenizer
        learned = [token for token in learned if token in reached or len(token) == 1]


def draw_piece(rng: random.Random, length: int) -> bytes:
    """Draw a piece of few letters, now and then one of any bytes."""
    letters = LETTERS if rng.random() < 0.9 else bytes(range(256))
    return bytes(rng.choices(letters[: rng.randint(1, len(letters))], k=length))
