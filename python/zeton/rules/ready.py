"""Ready-made rules for some kinds of text. Each is a value like any other: `replace` changes it."""

from collections.abc import Callable, Iterable
from typing import Literal

from zeton._engine import scripts_of
from zeton.errors import RulesError
from zeton.rules.parts import Group, Isolate, Lexicon
from zeton.rules.value import FILE_BYTES_MAX, Rules
from zeton.rules.values import refuse, shown
from zeton.work.files import given, read_whole

__all__ = ["chat", "chemistry", "chinese", "code", "dna", "logs", "named", "thai"]

WordPath = Literal["longest", "fewest"]


def code() -> Rules:
    """Split programs: camelCase is cut into words, quotes are no contractions.

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
    """Split messages: addresses, mentions, hashtags and every emoji are one piece each."""
    return Rules(base="o200k", keep_space=True, isolate=CHAT)


# ---- chemistry ----

ELEMENTS = (
    "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se "
    "Br Kr Rb Sr Y Zr Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb "
    "Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm"
)


def chemistry(*, smiles: bool = False) -> Rules:
    r"""Keep formulas in prose whole; or with `smiles`, cut lines of SMILES into atoms.

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
    """Return a regex for two or more elements, groups in brackets included, and a charge."""
    longest_first = sorted(ELEMENTS.split(), key=len, reverse=True)
    element = f"(?:{'|'.join(longest_first)})[0-9₀-₉]*"
    group = rf"\((?:{element})+\)[0-9₀-₉]*"
    complex_ = rf"\[(?:{element}|{group})+\][0-9₀-₉]*"
    return rf"(?:{complex_}|(?:{element}|{group}|{complex_}){{2,}})(?:[+-]|[⁰¹²³⁴-⁹]*[⁺⁻])?"


# ---- DNA ----


def dna(*, k: int = 3, frame: int = 0, characters: str = "ACGTUNacgtun") -> Rules:
    """Split sequences into groups of k bases; the reading frame begins anew in every line.

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
    """Split logs: dates, times, addresses and UUIDs are one piece each."""
    return Rules(
        base="cl100k", contractions="none", newlines="apart", keep_space=True, isolate=LOGS
    )


# ---- scripts without spaces ----


def chinese(words: Iterable[str], *, path: WordPath = "fewest") -> Rules:
    """Split Chinese: runs of Han are cut into these words."""
    return _with_words(words, "Han", path)


def thai(words: Iterable[str], *, path: WordPath = "fewest") -> Rules:
    """Split Thai: runs of its script are cut into these words."""
    return _with_words(words, "Thai", path)


def _with_words(words: Iterable[str], script: str, path: WordPath) -> Rules:
    """Make a lexicon; a word with other characters too is kept as it is, wherever it stands.

    One with none of the script is kept as a whole word: a list may have `c++`, or `a`.
    """
    if isinstance(words, str):
        raise TypeError("words is many words, not one text; give a list")
    own, mixed, other = list[str](), list[str](), list[str]()
    for at, word in enumerate(words):
        if not isinstance(word, str):
            refuse(("words", at), f"is {shown(word)}; it is a text")
        if word != word.strip():
            refuse(("words", at), f"{shown(word)} has white space at an end; strip it")
        scripts = set(scripts_of(word))
        if scripts:
            (own if scripts == {script} else mixed if script in scripts else other).append(word)
    if not own:
        refuse((), f"no word is all of the script {script}; give a list of such words")
    return Rules(base="cl100k", keep=mixed, keep_words=other, lexicon=Lexicon(own, script, path))


def _words_of(path: str) -> list[str]:
    """Read words, one a line; what has columns is refused, as numbers are no words."""
    content = read_whole(given(path), FILE_BYTES_MAX)
    try:
        lines = content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise RulesError(f"{path} is not UTF-8 at byte {error.start}; save it so") from None
    for number, line in enumerate(lines, 1):
        if len(line.split()) > 1:
            raise RulesError(
                f"{path}: line {number}: {shown(line)} is not one word; give a word a line"
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


def named(name: str) -> Rules:
    """Return rules by what the command line calls them: a file, `code`, or `thai=words.txt`."""
    if name in WITHOUT_WORDS:
        return WITHOUT_WORDS[name]()
    kind, is_with, path = name.partition("=")
    if kind in WITH_WORDS:
        if not is_with:
            raise RulesError(f"{name} needs words; give {name}=FILE, with a word a line")
        words = _words_of(path)
        try:
            return WITH_WORDS[kind](words)
        except RulesError as error:
            raise RulesError(f"{path}: {error}") from None
    if not name.endswith((".json", ".toml")):
        listed = ", ".join([*WITHOUT_WORDS, *(f"{kind}=FILE" for kind in WITH_WORDS)])
        raise RulesError(f"there are no rules {name!r}; give a .toml or .json file, or {listed}")
    return Rules.load(name)
