"""What a training did, as one page of HTML that needs nothing else and runs nothing."""

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from itertools import islice

from zeton.errors import PatternError
from zeton.rules import Rules
from zeton.rules.display import rule_lines
from zeton.text.escape import visible
from zeton.training.report.charts import STYLE, bars, lines, number, share
from zeton.training.report.scripts import KINDS, kind

__all__ = ["Facts", "html"]

SHOWN, SPECIALS_SHOWN = 20, 100
"""How many merges or tokens a table has, and how many specials are listed."""

TOKEN_SHOWN, LINE_SHOWN = 64, 4000
"""How many characters of a token, and of any other text, are shown."""

PAGE_STYLE = """
:root { color-scheme: light dark; --page: #ffffff; --ink: #1a1a1a; --pale: #5b6470;
  --rule: #dfe3e8; --box: #eceff3; --first: #c8102e; --second: #0b5cad; --bar: #75818f; }
@media screen and (prefers-color-scheme: dark) { :root { --page: #15171c; --ink: #e8eaed;
  --pale: #a3adba; --rule: #343a44; --box: #2a2f38; --first: #ff7b88; --second: #7db7ff;
  --bar: #8794a4; } }
* { box-sizing: border-box; }
body { max-width: 1040px; margin: 0 auto; padding: 24px 16px 48px; background: var(--page);
  color: var(--ink); font: 15px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { margin: 0; font-size: 28px; line-height: 1.25; }
h2 { margin: 0 0 4px; font-size: 18px; }
p { margin: 0 0 12px; max-width: 70ch; color: var(--pale); }
dl, main, .sides { display: grid; gap: 40px;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); }
dl { gap: 16px; grid-template-columns: repeat(auto-fill, minmax(min(45%, 230px), 1fr)); }
dl div { display: flex; flex-direction: column-reverse; justify-content: flex-end; }
dt { color: var(--pale); font-size: 13px; }
dd { margin: 0; font-size: 24px; font-weight: 600; line-height: 1.25; }
main { margin-top: 32px; }
section { display: flex; flex-direction: column; min-width: 0; }
section.wide { grid-column: 1 / -1; }
section > svg:has(circle) { margin-top: auto; }
table { width: 100%; border-collapse: collapse; font-size: 14px; align-self: start; }
caption { padding: 4px 0; text-align: left; font-weight: 600; }
th { color: var(--pale); font-weight: 400; text-align: left; }
th, td { padding: 3px 12px 3px 0; border-bottom: 1px solid var(--rule); vertical-align: top; }
th:last-child, td:last-child { padding-right: 0; }
th:nth-child(2) { width: 100%; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
code { padding: 1px 3px; border-radius: 3px; background: var(--box); color: var(--ink);
  font: 13px/1.6 ui-monospace, monospace; white-space: pre-wrap; white-space: break-spaces;
  -webkit-box-decoration-break: clone; box-decoration-break: clone; print-color-adjust: exact; }
td code { display: inline-block; max-width: 100%; }
@media print { body { max-width: none; padding: 0; } body, table { font-size: 12px; }
  dl { grid-template-columns: repeat(4, 1fr); }
  main, .sides { grid-template-columns: 1fr 1fr; gap: 24px; }
  section:not(.wide), p, tr { break-inside: avoid; } h2, h2 + p { break-after: avoid; }
  section.wide + section:not(.wide) { break-before: page; }
  svg { print-color-adjust: exact; } }
"""

HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>"""


@dataclass(frozen=True)
class Facts:
    """What a training tells about itself."""

    name: str
    pattern: str
    texts: int
    corpus_bytes: int
    pieces: int
    """Distinct ones."""
    left_out: tuple[int, int]
    """Pieces that were too rare to learn from, and their occurrences."""
    skipped: str
    """A line about broken files and lines, or nothing."""
    seconds: tuple[float, float]
    """Of counting, and of learning."""
    tokens: Mapping[int, bytes]
    """By rising id, without the specials."""
    merges: Sequence[tuple[int, int, int]]
    """Left id, right id and count, in order; the k-th makes `tokens[first_new + k]`."""
    first_new: int
    ties: int
    curve: Sequence[tuple[int, float, float | None]]
    """Tokens so far, and their bytes per token on the corpus and on the validation share."""
    made: Sequence[tuple[int, float, float | None]]
    """The same for each tokenizer that was made, by its vocabulary size; there is one at least."""
    specials: Sequence[str]


def html(facts: Facts) -> str:
    """Write the page. Its size has a bound, whatever the vocabulary's."""
    parts = (_compression, _counts, _lengths, _scripts, _merges, _ties, _longest, _pattern)
    sections = "\n".join(part(facts) for part in parts)
    return f"""{HEAD}
<title>{_line(facts.name)}: a training report</title>
<style>{PAGE_STYLE}{STYLE}</style>
</head>
<body>
{_head(facts)}
<main>
{sections}
</main>
</body>
</html>
"""


def _head(facts: Facts) -> str:
    size, corpus, validation = facts.made[-1]
    counting, learning = facts.seconds
    figures = {
        "texts": number(facts.texts),
        "bytes of text": number(facts.corpus_bytes),
        "distinct pieces": number(facts.pieces),
        "vocabulary size": number(size),
        "bytes per token": f"{corpus:.2f}",
        "validation bytes per token": "-" if validation is None else f"{validation:.2f}",
        "time": duration(counting + learning),
        "ties": number(facts.ties),
    }
    rows = "\n".join(f"<div><dt>{name}</dt><dd>{told}</dd></div>" for name, told in figures.items())
    notes = [f"Counting took {duration(counting)}, learning {duration(learning)}."]
    if facts.left_out[0]:
        pieces, occurrences = map(number, facts.left_out)
        notes.append(f"Too rare to learn from: {pieces} pieces, {occurrences} occurrences.")
    if facts.skipped:
        notes.append(f"<bdi>{_line(facts.skipped)}</bdi>")
    return f"""<header>
<h1><bdi>{_line(facts.name)}</bdi></h1>
<p>What this tokenizer learned, and from what.</p>
<dl>
{rows}
</dl>
<p>{"<br/>".join(notes)}</p>
</header>"""


def _compression(facts: Facts) -> str:
    corpus = [(size, value) for size, value, _ in facts.curve]
    validation = [(size, value) for size, _, value in facts.curve if value is not None]
    series = {
        f"{name} {points[-1][1]:.2f}": points
        for name, points in (("corpus", corpus), ("validation", validation))
        if points
    }
    sizes = f"{number(corpus[0][0])} to {number(corpus[-1][0])} tokens" if corpus else ""
    label = f"Bytes per token for {sizes}; at the end: {', '.join(series)}"
    picture = lines(label, series, x="tokens in the vocabulary", y="bytes per token")
    if len(facts.made) > 1:
        picture += _table(
            f"{len(facts.made)} tokenizers were made, each a prefix of the next",
            ["vocabulary size", "bytes per token", "validation"],
            (
                [f"{size:,}", f"{value:.3f}", "-" if held is None else f"{held:.3f}"]
                for size, value, held in facts.made
            ),
        )
    return _section(
        "Compression against vocabulary size",
        "Higher is better: a token then stands for more text. Where a line flattens, more tokens"
        " gain little. Held-out text was not learned from; the further its line is below the"
        " other, the more the tokens are those of this corpus alone.",
        picture or "<p>No size was measured.</p>",
    )


def _counts(facts: Facts) -> str:
    counts = [(at, count) for at, (_, _, count) in enumerate(facts.merges, 1)]
    if not counts:
        return _section("Count of each merge", "No merge was learned.", "")
    first, middle, last = (number(counts[at][1]) for at in (0, len(counts) // 2, -1))
    return _section(
        "Count of each merge",
        "How often the pair occurred when it was merged; both axes are logarithmic. Where the line"
        " nears the bottom, tokens are learned from few examples."
        f" The first merge joined {first} pairs, the one in the middle {middle}, the last {last}.",
        lines(
            f"Count of {number(len(counts))} merges, falling from {first} to {last}",
            {f"last {last}": counts},
            x="merges",
            y="occurrences of the pair",
            log_y=True,
        ),
    )


def _lengths(facts: Facts) -> str:
    sizes = Counter(min(len(token), 17) for token in facts.tokens.values())
    rows = {"1 byte": sizes[1]} | {f"{size} bytes": sizes[size] for size in range(2, 17)}
    return _section(
        "Token lengths",
        "How many tokens have how many bytes. A Latin letter is one byte, a Cyrillic one two, a"
        " Chinese character three; most words begin with their space.",
        bars("Tokens by length", rows | {"17 or more": sizes[17]}),
    )


def _scripts(facts: Facts) -> str:
    found = Counter(map(kind, facts.tokens.values()))
    return _section(
        "Scripts covered",
        "Each token counts once, for its first letter; without one it is digits, symbols or white"
        " space. Parts of characters are bytes that are no whole UTF-8.",
        bars("Tokens by script", {name: found[name] for name in KINDS}),
    )


def _merges(facts: Facts) -> str:
    def rows(numbers: Iterable[int]) -> Iterable[list[str]]:
        for at in numbers:
            left, right, count = facts.merges[at]
            made = facts.first_new + at
            pair = f"{_code(facts.tokens[left])} + {_code(facts.tokens[right])}"
            yield [f"{made:,}", f"{pair} → {_code(facts.tokens[made])}", f"{count:,}"]

    total = len(facts.merges)
    tables = [
        _table(name, ["id", "merge", "count"], rows(numbers))
        for name, numbers in (
            ("First", range(min(SHOWN, total))),
            ("Last", range(max(SHOWN, total - SHOWN), total)),
        )
        if numbers
    ]
    return _section(
        "The first and the last merges",
        "The first are what the corpus is full of. The last are the price of its size: if they"
        " look like noise, a smaller vocabulary would do."
        if tables
        else "No merge was learned.",
        f'<div class="sides">\n{"".join(tables)}</div>' if tables else "",
        wide=True,
    )


def _ties(facts: Facts) -> str:
    total = len(facts.merges)
    part = escape(share(facts.ties, total))
    return _section(
        "Ties",
        f"{number(facts.ties)} of {number(total)} merges ({part}) were chosen"
        " among pairs of equal count. The smallest pair of ids goes first, so the same corpus gives"
        " the same vocabulary, in whatever order its texts are read.",
        "",
        wide=True,
    )


def _longest(facts: Facts) -> str:
    long = [(len(token), at) for at, token in facts.tokens.items() if len(token) > 1]
    found = heapq.nsmallest(SHOWN, long, key=lambda pair: (-pair[0], pair[1]))
    rows = [[f"{at:,}", _code(facts.tokens[at]), f"{size:,}"] for size, at in found]
    return _section(
        "Longest tokens",
        "Long tokens often come from repeated lines: headers, rulers, licences."
        if rows
        else "No token is longer than a byte.",
        _table("", ["id", "token", "bytes"], rows) if rows else "",
    )


def _pattern(facts: Facts) -> str:
    shown = " ".join(_code(name) for name in facts.specials[:SPECIALS_SHOWN])
    more = len(facts.specials) - SPECIALS_SHOWN
    return _section(
        "Pattern and specials",
        "The pattern splits a text into pieces, which no merge crosses. Specials are reserved"
        " strings, whose ids come last.",
        f"<p>{_split_by(facts.pattern)}</p>\n"
        f"<p>{shown or 'There are no specials.'}{f' and {more:,} more' if more > 0 else ''}</p>",
    )


def _split_by(pattern: str) -> str:
    """Write a pattern, or rules a line each."""
    rules = None
    with suppress(PatternError):  # Of another version: shown as it is.
        rules = Rules.of(pattern)
    if rules is None:
        return _code(pattern, LINE_SHOWN)
    shown = [_code(f"{name} {line}", LINE_SHOWN) for name, line in islice(rule_lines(rules), SHOWN)]
    return "<br/>\n".join(shown)


def duration(seconds: float) -> str:
    """Write a time with the units that matter.

    >>> [duration(seconds) for seconds in (0.04, 59.96, 3599.9, 7260)]
    ['0.04 s', '1 min 00 s', '1 h 00 min', '2 h 01 min']
    """
    if seconds < 0.95:
        return f"{seconds:.2f} s"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    large, small, units = seconds / 60, 60, ("min", "s")
    if round(seconds) >= 3600:
        large, units = seconds / 3600, ("h", "min")
    whole = round(large * small)
    return f"{whole // small} {units[0]} {whole % small:02} {units[1]}"


def _code(text: bytes | str, most: int = TOKEN_SHOWN) -> str:
    return f"<bdi><code>{_line(text, most)}</code></bdi>"


def _line(text: bytes | str, most: int = LINE_SHOWN) -> str:
    """Escape a text from outside, whatever it holds, and cut a long one."""
    shown = visible(text)
    return escape(shown if len(shown) <= most else shown[:most] + "…")


def _table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table whose cells are HTML; the first and the last column are numbers."""

    def row(cell: str, cells: Sequence[str]) -> str:
        kinds = [' class="number"', *[""] * (len(cells) - 2), ' class="number"']
        filled = zip(kinds, cells, strict=True)
        return "".join(f"<{cell}{named}>{content}</{cell}>" for named, content in filled)

    above = f"<caption>{caption}</caption>\n" if caption else ""
    body = "\n".join(f"<tr>{row('td', cells)}</tr>" for cells in rows)
    head = f"<thead><tr>{row('th', heads)}</tr></thead>"
    return f"<table>\n{above}{head}\n<tbody>\n{body}\n</tbody>\n</table>\n"


def _section(title: str, sentence: str, body: str, *, wide: bool = False) -> str:
    named = ' class="wide"' if wide else ""
    return f"<section{named}>\n<h2>{title}</h2>\n<p>{sentence}</p>\n{body}\n</section>"
