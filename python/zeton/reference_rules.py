"""The specification of rules: how they split a text, in order of application.

    text --matches--> kept pieces and gaps --runs--> words, groups and gaps
         --grammar--> pieces --refine--> finer pieces

Rules are the JSON object of `Rules.spelled`. Like `zeton.reference`, this file is slow on purpose:
a text is a str, and each byte that is not UTF-8 is a lone surrogate in it.
"""

from collections.abc import Iterator
from functools import cache
from itertools import groupby, pairwise
from typing import Any, TypeAlias

import regex
from regex._regex_core import PROPERTIES  # The list of all scripts.

from zeton.reference import PATTERN, Vocab, cut_specials, merge, read, split

Rules: TypeAlias = dict[str, Any]
Span: TypeAlias = tuple[int, int]


def encode(
    text: str | bytes, vocab: Vocab, rules: Rules, specials: dict[str, int] | None = None
) -> list[int]:
    """Encode text: cut the allowed specials out, split the rest by rules, merge each piece."""
    ids: list[int] = []
    for segment, special in cut_specials(read(text), specials or {}):
        for piece in split_by_rules(segment, rules):
            ids += merge(piece, vocab)
        ids += special
    return ids


def split_by_rules(text: str, rules: Rules) -> list[bytes]:
    """Cut text into pieces. Joined, the pieces are the text.

    >>> split_by_rules("BRCA1, not BRCA12", {"rules": 1, "keep_words": ["BRCA1"]})
    [b'BRCA1', b',', b' not', b' BRCA', b'12']
    """
    pieces: list[str] = []
    end = 0
    for match_start, match_end in matches(text, rules):
        pieces += split_gap(text[end:match_start], rules)
        pieces.append(text[match_start:match_end])
        end = match_end
    pieces += split_gap(text[end:], rules)
    return [piece.encode("utf-8", "surrogateescape") for piece in pieces]


# ---- matches of keep, keep_words and isolate ----

MATCH_BYTES_MAX = 4096
"""The longest match of a regex in bytes; longer matches are ignored."""


def matches(text: str, rules: Rules) -> Iterator[Span]:
    """Yield the ranges that are one piece: leftmost, then longest, then first listed.

    The engine runs an `isolate` on the Rust crate `regex`. The Python package `regex` finds the
    same matches, with three exceptions: `$` before a final newline; a repeated part that can match
    the empty string, such as `(?:a??)+`; a match of the greatest length whose end depends on the
    text behind it.

    >>> list(matches("in New York", {"rules": 1, "keep": ["New", "New York"]}))
    [(3, 11)]
    """
    shown = regex.sub("[\udc80-\udcff]", "\ufffd", text)  # For regexes, such a byte is U+FFFD.
    finders = [(regex.escape(literal), text) for literal in rules.get("keep", [])]
    finders += [(whole_word(regex.escape(word)), text) for word in rules.get("keep_words", [])]
    for isolate in rules.get("isolate", []):
        found = isolate["regex"]
        finders.append((whole_word(found) if isolate.get("whole_word") else found, shown))
    end = 0
    while True:
        found = [find(pattern, where, end) for pattern, where in finders]
        spans = [match.span() for match in found if match]
        if not spans:
            return
        start, match_end = min(spans, key=lambda span: (span[0], -span[1]))
        if rules.get("keep_space") and start > end and text[start - 1] == " ":
            start -= 1
        yield start, match_end
        end = match_end


def find(pattern: str, text: str, start: int) -> "regex.Match[str] | None":
    """Return the first match from `start` on that has at most `MATCH_BYTES_MAX` bytes."""
    found = regex.search(pattern, text, pos=start)
    while found and len(found.group().encode("utf-8", "surrogateescape")) > MATCH_BYTES_MAX:
        seen = text[found.start() :].encode("utf-8", "surrogateescape")[:MATCH_BYTES_MAX]
        end = found.start() + len(seen.decode("utf-8", "ignore"))
        shorter = regex.match(pattern, text, pos=found.start(), endpos=end)
        found = shorter or regex.search(pattern, text, pos=found.start() + 1)
    return found


def whole_word(pattern: str) -> str:
    r"""Restrict a regex to matches without a word character directly before or after them.

    >>> [match.start() for match in regex.finditer(whole_word("ab"), "ab cab ab_ (ab)")]
    [0, 12]
    """
    return rf"(?<!\w)(?:{pattern})(?!\w)"


# ---- runs of a lexicon's script, or of a group's characters ----


def split_gap(text: str, rules: Rules) -> list[str]:
    """Split the text between two matches: runs by their own rules, the rest by the grammar."""
    pieces: list[str] = []
    for owner, characters in groupby(text, lambda character: owner_of(character, rules)):
        run = "".join(characters)
        kind, at = owner
        if kind == "lexicon":
            pieces += cut_into_words(run, **rules["lexicon"][at])
        elif kind == "groups":
            pieces += cut_into_groups(run, **rules["groups"][at])
        else:
            for piece in split_by_grammar(run, rules):
                pieces += refine(piece, rules)
    return pieces


def owner_of(character: str, rules: Rules) -> tuple[str, int]:
    """Return the one lexicon or group of a character, or the grammar."""
    for at, lexicon in enumerate(rules.get("lexicon", [])):
        if regex.match(rf"\p{{Script={lexicon['script']}}}", character):
            return "lexicon", at
    for at, group in enumerate(rules.get("groups", [])):
        if character in group["characters"]:
            return "groups", at
    return "grammar", 0


def cut_into_words(run: str, script: str, words: list[str], path: str = "longest") -> list[str]:
    """Cut a run into words; neighbouring characters without a word are one piece.

    >>> cut_into_words("研究生命起源", "Han", ["研究", "研究生", "生命", "起源"])
    ['研究生', '命', '起源']
    >>> cut_into_words("研究生命起源", "Han", ["研究", "研究生", "生命", "起源"], "fewest")
    ['研究', '生命', '起源']
    """
    del script
    parts = fewest_parts(run, words) if path == "fewest" else longest_parts(run, words)
    pieces: list[str] = []
    for is_word, group in groupby(parts, lambda part: part in words):
        some = list(group)
        pieces += some if is_word else ["".join(some)]
    return pieces


def longest_parts(run: str, words: list[str]) -> list[str]:
    """Cut a run from the left: always the longest word, or one unknown character."""
    parts, at = [], 0
    while at < len(run):
        here = (word for word in words if run.startswith(word, at))
        parts.append(max(here, key=len, default=run[at]))
        at += len(parts[-1])
    return parts


def fewest_parts(run: str, words: list[str]) -> list[str]:
    """Cut a run into the fewest parts, then the fewest unknown, then the longer part first."""

    def cost(parts: list[str]) -> tuple[int, int, list[int]]:
        return len(parts), sum(part not in words for part in parts), [-len(part) for part in parts]

    best: list[list[str]] = [[]]  # The best cuts of all suffixes, the longest first.
    for at in reversed(range(len(run))):
        here = {run[at], *(word for word in words if run.startswith(word, at))}
        best.insert(0, min(([part, *best[len(part) - 1]] for part in here), key=cost))
    return best[0]


def cut_into_groups(
    run: str, characters: str, size: int, start: int = 0, name: str | None = None
) -> list[str]:
    """Cut a run after `start` characters, then every `size` characters.

    >>> cut_into_groups("ATGGCCA", "ACGT", 3, start=1)
    ['A', 'TGG', 'CCA']
    """
    del characters, name
    ends = [*range(start or size, len(run), size), len(run)]
    return [run[a:b] for a, b in pairwise([0, *ends])]


# ---- the grammar ----

PUBLISHED = {
    "nanochat": PATTERN,
    "gpt2": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
    "cl100k": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
        r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
    ),
    "o200k": (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
}

KNOBS = ("digits", "contractions", "leading_space", "newlines", "marks", "case", "underscores")

OWN = {  # The values of the knobs in each published pattern.
    "nanochat": (2, "apart", "sign", "run", False, "ignore", "sign"),
    "gpt2": ("any", "apart", True, "space", False, "ignore", "sign"),
    "cl100k": (3, "apart", "sign", "run", False, "ignore", "sign"),
    "o200k": (3, "joined", "sign", "run", True, "split", "sign"),
}


def split_by_grammar(text: str, rules: Rules) -> list[str]:
    """Split by the pattern of the rules; without a pattern, the text is one piece."""
    pattern = compose(rules)
    return [text] if pattern is None else [read(piece) for piece in split(text, pattern)]


def compose(rules: Rules) -> str | None:
    r"""Write the base and its knobs as one pattern; without knobs it is the published pattern.

    >>> compose({"rules": 1, "base": "gpt2", "digits": 3, "contractions": "none"})
    ' ?\\p{L}+| ?\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]++|\\s++$|\\s+(?!\\S)|\\s+'
    """
    base = rules.get("base", "nanochat")
    if "pattern" in rules or base is None:
        return rules.get("pattern")
    own = dict(zip(KNOBS, OWN[base], strict=True))
    knobs = own | {knob: rules[knob] for knob in KNOBS if knob in rules}
    if rules.get("digits_from") == "right":  # `refine` applies the next three.
        knobs["digits"] = "any"
    if knobs["case"] == "words":
        knobs["case"] = "ignore"
    if knobs["underscores"] == "alone":
        knobs["underscores"] = "sign"
    if knobs["underscores"] == "sign" and not any(knob in rules for knob in KNOBS[:-1]):
        return PUBLISHED[base]
    parts = [contraction_rule(base, knobs), *word_rules(knobs), number_rule(base, knobs)]
    parts += [punctuation_rule(base, knobs), space_rule(base, own, knobs)]
    return "|".join(filter(None, parts))


def contraction_rule(base: str, knobs: Rules) -> str:
    """Return the regex of contractions; GPT-2's has small letters only."""
    case = "?:" if base == "gpt2" else "?i:"
    return f"'({case}[sdmt]|ll|ve|re)" if knobs["contractions"] == "apart" else ""


def word_rules(knobs: Rules) -> list[str]:
    """Return the regexes of words: a prefix, letters, and joined contractions."""
    underscore = "_" if knobs["underscores"] == "letter" else ""
    more = (r"\p{M}" if knobs["marks"] else "") + underscore
    possessive = "" if knobs["marks"] else "+"  # The prefix may match a mark that the word needs.
    sign = rf"[^\r\n\p{{L}}\p{{N}}{underscore}]?{possessive}"
    prefix = {False: "", True: " ?", "sign": sign}[knobs["leading_space"]]
    suffix = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?" if knobs["contractions"] == "joined" else ""
    if knobs["case"] == "split":
        upper = rf"[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}{more}]"
        lower = rf"[\p{{Ll}}\p{{Lm}}\p{{Lo}}{more}]"
        return [f"{prefix}{upper}*{lower}+{suffix}", f"{prefix}{upper}+{lower}*{suffix}"]
    letters = rf"[\p{{L}}{more}]" if more else r"\p{L}"
    return [f"{prefix}{letters}+{suffix}"]


def number_rule(base: str, knobs: Rules) -> str:
    """Return the regex of numbers; GPT-2's includes a space before the number."""
    blank = " ?" if base == "gpt2" and knobs["leading_space"] is not False else ""
    most = "+" if knobs["digits"] == "any" else f"{{1,{knobs['digits']}}}"
    return rf"{blank}\p{{N}}{most}"


def punctuation_rule(base: str, knobs: Rules) -> str:
    """Return the regex of signs, with the newlines behind them."""
    blank = "" if knobs["leading_space"] is False else " ?"
    underscore = "_" if knobs["underscores"] == "letter" else ""
    tail = {"o200k": r"[\r\n/]*"}.get(base, r"[\r\n]*") if knobs["newlines"] == "run" else ""
    return rf"{blank}[^\s\p{{L}}\p{{N}}{underscore}]++{tail}"


def space_rule(base: str, own: Rules, knobs: Rules) -> str:
    """Return the regex of white space; GPT-2 and cl100k have one piece at the end of a text."""
    is_own = (own["newlines"] == "space") == (knobs["newlines"] == "space")
    at_end = r"\s++$|" if base in {"gpt2", "cl100k"} and is_own else ""
    to_newline = "" if knobs["newlines"] == "space" else r"\s*[\r\n]+|"
    return at_end + to_newline + r"\s+(?!\S)|\s+"


# ---- finer cuts inside a piece of the grammar ----

CASE_CHANGES = (  # `\p{M}*` skips the marks of the first letter.
    r"(?<=\p{Ll}\p{M}*)(?=[\p{Lu}\p{Lt}])|(?<=[\p{Lu}\p{Lt}]\p{M}*)(?=[\p{Lu}\p{Lt}]\p{M}*\p{Ll})"
)


def refine(piece: str, rules: Rules) -> list[str]:
    """Cut a piece at the cuts of all refinements; each refinement reads the whole piece.

    >>> refine(" parseHTTPRequest", {"case": "words"})
    [' parse', 'HTTP', 'Request']
    >>> refine("1234567", {"digits": 3, "digits_from": "right"})
    ['1', '234', '567']
    """
    cuts = {0, len(piece)}
    if rules.get("digits_from") == "right" and regex.fullmatch(r" ?\p{N}+", piece):
        first = 1 if piece.startswith(" ") else 0
        cuts |= set(range(len(piece) - rules["digits"], first, -rules["digits"]))
    if rules.get("case") == "words":
        cuts |= {change.start() for change in regex.finditer(CASE_CHANGES, piece)}
    if rules.get("underscores") == "alone":
        cuts |= {end for run in regex.finditer("_+", piece) for end in run.span()}
    if rules.get("scripts"):
        cuts |= set(script_changes(piece))
    return [piece[a:b] for a, b in pairwise(sorted(cuts))]


def script_changes(piece: str) -> Iterator[int]:
    """Yield the positions of letters whose script differs from that of the previous letter.

    >>> list(script_changes("GPT-4แมว"))
    [5]
    """
    last = None
    for at, character in enumerate(piece):
        if not regex.match(r"\p{L}", character):
            continue
        script = script_of(character)
        if script in {"COMMON", "INHERITED"}:
            continue
        if last not in {None, script}:
            yield at
        last = script


@cache
def script_of(character: str) -> str:
    """Return the name of a character's script, in capitals.

    >>> script_of("ก")
    'THAI'
    """
    names: list[str] = list(PROPERTIES["SCRIPT"][1])
    return next(name for name in names if regex.match(rf"\p{{Script={name}}}", character))
