"""A signal ends a long call soon: it is answered while the engine works, also within one match."""

import subprocess
import sys

import pytest

CHILD = """
import signal, sys, time
import zeton

class Alarm(Exception):
    pass

def ring(*_):
    raise Alarm

signal.signal(signal.SIGALRM, ring)
tok = tok2 = fresh = zeton.pretrained("cl100k_base")
{setup}
due = time.monotonic() + {delay}
signal.setitimer(signal.ITIMER_REAL, {delay})
try:
    {call}
except Alarm:
    print("ended", time.monotonic() - due)
else:
    print("done before the signal")
assert tok.encode("after") == [10924]
assert tok2.encode("aab") == fresh.encode("aab")
"""

SECONDS_MAX = 5.0
"""The answer takes some 0.1 s on an idle core; the bound allows for a busy machine."""

BACKTRACKING = r"(a*)*b|[\s\S]"
ONE_MATCH = r"(?<!x)(?:a(?=[ab]*c)|[ab])+(?!a)c|[\s\S]"
WORDS = 'text = "some words of a text, " * 4_400_000'
PATTERN = (
    "tok2, fresh = (zeton.Tokenizer(tok.ranks(), pattern={!r}) for _ in 'ab'); text = 'a' * {}"
)
COUNTED = f"zeton.count_corpus([text], pattern={BACKTRACKING!r}, threads=2)"
TRAINED = f"zeton.train([text], vocab_size=300, pattern={BACKTRACKING!r}, threads=1)"
MANY = 'texts = ["some words of a short text " + str(n) for n in range(400_000)]'


@pytest.mark.parametrize(
    ("setup", "call"),
    [
        (PATTERN.format(BACKTRACKING, 400_000), "tok2.encode(text)"),
        (PATTERN.format(BACKTRACKING, 400_000), "tok2.count(text)"),
        (PATTERN.format(BACKTRACKING, 400_000), "tok2.split(text)"),
        (PATTERN.format(BACKTRACKING, 400_000), "tok2.truncate(text, n=300_000)"),
        (PATTERN.format(BACKTRACKING, 400_000), "tok2.chunk(text, n=300_000)"),
        (PATTERN.format(BACKTRACKING, 400_000), "tok2.encode_batch(['a', text], threads=2)"),
        (PATTERN.format(BACKTRACKING, 400_000), "e = tok2.encoder(); e.push(text); e.finish()"),
        (PATTERN.format(ONE_MATCH, 3_000_000), "tok2.encode(text)"),
        ("text = 'a' * 400_000", COUNTED),
        ("text = 'a' * 400_000", TRAINED),
        (MANY, "[tok.encode_batch(texts, threads=2) for _ in range(50)]"),
        (MANY, "[tok.encode_batch_array(texts, threads=1) for _ in range(50)]"),
        (WORDS, "tok.chunk(text, n=100)"),
        (WORDS, "tok.split(text)"),
        (WORDS, "tok.encode(text); tok.encode(text); tok.encode(text); tok.encode(text)"),
        (WORDS, "[tok.count(text, threads=2) for _ in range(50)]"),
        (WORDS, "[tok.truncate(text, n=20_000_000, at='word') for _ in range(50)]"),
        (WORDS, "[tok.truncate(text, n=20_000_000, side='start') for _ in range(50)]"),
    ],
)
def test_a_signal_ends_a_long_call_soon(setup: str, call: str) -> None:
    code = CHILD.format(setup=setup, call=call, delay=0.3)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    ended, seconds = done.stdout.split()
    assert ended == "ended"
    assert float(seconds) < SECONDS_MAX
