"""Ready-made rules for some kinds of text.

>>> Rules(base="gpt2") == code()
False
"""

from collections.abc import Callable, Iterable
from typing import Literal

from zeton._engine import scripts_of
from zeton.errors import RulesError
from zeton.rules.checks import quote, refuse
from zeton.rules.parts import Group, Isolate, Lexicon
from zeton.rules.value import FILE_BYTES_MAX, Rules
from zeton.suggest import nearest
from zeton.work.files import read_whole, require_path

__all__ = ["chat", "chemistry", "chinese", "code", "dna", "get_rules", "logs", "thai"]

WordPath = Literal["longest", "fewest"]


def code() -> Rules:
    """Return rules for programs: camelCase is cut into words, and `'s` is not a contraction.

    >>> code().case, code().contractions
    ('words', 'none')
    """
    return Rules(base="cl100k", contractions="none", case="words", scripts=True)


# ---- chat ----

PICTURE = r"\p{Extended_Pictographic}(?:\p{Emoji_Modifier}|\uFE0F)?"

CHAT = (
    Isolate(r"https?://[^\s<>\"']+", "url"),
    Isolate(r"@\w+", "mention"),
    Isolate(r"#\w+", "hashtag"),
    Isolate(rf"{PICTURE}(?:\u200D{PICTURE})*", "emoji"),
    Isolate(r"\p{Regional_Indicator}{2}", "flag"),
    Isolate(r"[:;=]['^-]?[()DPpOo/|\\]", "smiley"),
)


def chat() -> Rules:
    """Return rules for messages: each URL, mention, hashtag and emoji is one piece.

    >>> chat().split("@anna ok :-)")
    [b'@anna', b' ok', b' :-)']
    """
    return Rules(base="o200k", keep_space=True, isolate=CHAT)


# ---- chemistry ----

ELEMENTS = (
    "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se "
    "Br Kr Rb Sr Y Zr Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb "
    "Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm"
)


def chemistry(*, smiles: bool = False) -> Rules:
    r"""Return rules for formulas in prose, or with `smiles`, for lines of SMILES.

    A formula is one piece. A line of SMILES is cut into atoms, bonds and brackets.

    >>> [isolate.name for isolate in chemistry(smiles=True).isolate]
    ['atom in brackets', 'atom', 'ring', 'bond']
    """
    if smiles:
        atoms = (
            Isolate(r"\[[^\[\]\s]+\]", "atom in brackets"),
            Isolate("Br|Cl|[BCNOSPFI]|[bcnosp]", "atom"),
            Isolate(r"%\d\d|\d", "ring"),
            Isolate(r"[-=#$:/\\.~()@*+]", "bond"),
        )
        return Rules(base=None, isolate=atoms)
    return Rules(
        base="cl100k", keep_space=True, isolate=Isolate(_formula(), "formula", whole_word=True)
    )


def _formula() -> str:
    """Return a regex for formulas: two or more elements, with groups in brackets and a charge."""
    longest_first = sorted(ELEMENTS.split(), key=len, reverse=True)
    element = f"(?:{'|'.join(longest_first)})[0-9₀-₉]*"
    group = rf"\((?:{element})+\)[0-9₀-₉]*"
    complex_ = rf"\[(?:{element}|{group})+\][0-9₀-₉]*"
    return rf"(?:{complex_}|(?:{element}|{group}|{complex_}){{2,}})(?:[+-]|[⁰¹²³⁴-⁹]*[⁺⁻])?"


# ---- DNA ----


def dna(*, k: int = 3, frame: int = 0, characters: str = "ACGTUNacgtun") -> Rules:
    """Return rules for sequences: groups of `k` bases; each line starts at `frame`.

    >>> dna(frame=1).groups
    (Group(characters='ACGTUNacgtun', size=3, start=1, name='bases'),)
    """
    header = Isolate(r">[^\r\n]*", "header")
    return Rules(isolate=header, groups=Group(characters, k, frame, "bases"))


# ---- logs ----

LOGS = (
    Isolate(r"(?:\d\d)?\d\d[-/.]\d\d[-/.]\d\d", "date", whole_word=True),
    Isolate(r"\d\d:\d\d(?::\d\d)?", "time", whole_word=True),
    Isolate(r"\d{1,3}(?:\.\d{1,3}){3}", "address", whole_word=True),
    Isolate(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "uuid", whole_word=True),
)


def logs() -> Rules:
    """Return rules for logs: each date, time, address and UUID is one piece."""
    return Rules(
        base="cl100k", contractions="none", newlines="apart", keep_space=True, isolate=LOGS
    )


# ---- scripts without spaces ----


def chinese(words: Iterable[str], *, path: WordPath = "fewest") -> Rules:
    """Return rules that cut runs of Han into these words."""
    return _with_words(words, "Han", path)


def thai(words: Iterable[str], *, path: WordPath = "fewest") -> Rules:
    """Return rules that cut runs of Thai into these words."""
    return _with_words(words, "Thai", path)


def _with_words(words: Iterable[str], script: str, path: WordPath) -> Rules:
    """Return rules with a lexicon of the words in the script.

    A word that mixes scripts goes to `keep`, for example `T恤`. A word without the script goes to
    `keep_words`, for example `c++`.
    """
    if isinstance(words, str):
        raise TypeError("words must be a list of words, not one str")
    own, mixed, other = list[str](), list[str](), list[str]()
    for at, word in enumerate(words):
        if not isinstance(word, str):
            refuse(("words", at), f"is {quote(word)}; it must be a string")
        if word != word.strip():
            refuse(("words", at), f"{quote(word)} begins or ends with white space; remove it")
        scripts = set(scripts_of(word))
        if scripts:
            (own if scripts == {script} else mixed if script in scripts else other).append(word)
    if not own:
        refuse((), f"no word is written in the script {script} alone; give at least one")
    return Rules(base="cl100k", keep=mixed, keep_words=other, lexicon=Lexicon(own, script, path))


def _read_words(path: str) -> list[str]:
    """Read a file with one word on each line; a line with several columns is an error."""
    content = read_whole(require_path(path), FILE_BYTES_MAX)
    try:
        lines = content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise RulesError(f"{path} is not UTF-8 at byte {error.start}; save it as UTF-8") from None
    for number, line in enumerate(lines, 1):
        if len(line.split()) > 1:
            raise RulesError(
                f"{path}: line {number}: {quote(line)} has several words; write one on each line"
            )
    return [line.strip() for line in lines]


# ---- by name ----

WITHOUT_WORDS: dict[str, Callable[[], Rules]] = {
    "chat": chat,
    "chemistry": chemistry,
    "code": code,
    "dna": dna,
    "logs": logs,
    "smiles": lambda: chemistry(smiles=True),
}
WITH_WORDS: dict[str, Callable[[Iterable[str]], Rules]] = {"chinese": chinese, "thai": thai}


def get_rules(name: str) -> Rules:
    """Return rules by a name of the command line: a file, `code`, or `thai=words.txt`.

    >>> get_rules("code") == code()
    True
    """
    if name in WITHOUT_WORDS:
        return WITHOUT_WORDS[name]()
    kind, has_file, path = name.partition("=")
    if kind in WITH_WORDS:
        if not has_file:
            raise RulesError(
                f"{name} needs a list of words; give {name}=FILE, one word on each line"
            )
        words = _read_words(path)
        try:
            return WITH_WORDS[kind](words)
        except RulesError as error:
            raise RulesError(f"{path}: {error}") from None
    if not name.endswith((".json", ".toml")):
        raise RulesError(f"there are no ready-made rules {name!r}{_suggest(kind)}")
    return Rules.load(name)


def _suggest(name: str) -> str:
    """Return the end of a message: the nearest ready-made rules, or all of them."""
    near = nearest(name, [*WITHOUT_WORDS, *WITH_WORDS])
    if near is not None:
        return f"; did you mean {near + '=FILE' if near in WITH_WORDS else near!r}?"
    listed = ", ".join([*WITHOUT_WORDS, *(f"{kind}=FILE" for kind in WITH_WORDS)])
    return f"; give a .toml or .json file, or one of {listed}"
