"""The cells of a run: tasks by vocabularies, groups of texts and forms of ids."""

from dataclasses import astuple, dataclass
from itertools import product

CL100K_PLAIN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
NANOCHAT_PLAIN = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]|\s+(?!\S)|\s+"
)
# The last alternative is ours, because stages keep unmatched text and an alternation drops it.
DEEPSEEK = (
    "\\p{N}{1,3}|[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"
    r"""|[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+"""
    r"|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+|\S"
)
KIMI = (
    r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*"
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+"
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


@dataclass(frozen=True)
class Vocab:
    title: str
    pattern: str = ""
    """Empty for the pattern of a published vocabulary, and for zeton's default, nanochat's."""
    plain: str = ""
    """The pattern without possessive quantifiers, which some peers do not have; else empty."""
    gigatoken: str | None = None
    """Gigatoken's name of the pattern, if it has one; it reads no other patterns."""


VOCABS = {
    "cl100k_base": Vocab("cl100k", plain=CL100K_PLAIN, gigatoken="gpt4"),
    "o200k_base": Vocab("o200k", gigatoken="o200k"),
    "nanochat": Vocab("own, nanochat's pattern", plain=NANOCHAT_PLAIN),
    "words": Vocab(r"own, `\w+\|\W`", r"\w+|\W"),
    "deepseek": Vocab("own, DeepSeek's pattern", DEEPSEEK),
    "kimi": Vocab("own, Kimi's pattern", KIMI, gigatoken="kimi"),
}
PUBLISHED = ("cl100k_base", "o200k_base")
OWN_SIZE = 32_768

GROUPS = {"en": "English", "code": "code", "multi": "other languages"}
HOSTILE = {
    "letter": "a",
    "spaces": "spaces",
    "newlines": "newlines, x",
    "han": "one Han",
    "random": "random letters",
    "base64": "base64",
}
"""The measured texts of `hostile.hostile()`, by a word for each."""

HELLO = "hello world"
FORMS = ("list", "array")
TASKS = {
    "large": "one large text",
    "small": "texts of 1 to 4 KB, a call each",
    "batch": "a batch of them, two threads",
    "decode": "decode the large text",
    "hostile": "1 MB of hostile text",
    "hello": f'"{HELLO}"',
    "load": "load",
}
MAIN = ("cl100k_base", "o200k_base", "nanochat")
"""Vocabularies of the tasks decode, hostile and hello."""


@dataclass(frozen=True)
class Cell:
    task: str
    vocab: str
    texts: str = ""
    form: str = ""


def all_cells() -> list[Cell]:
    cells = [Cell(*each) for each in product(("large", "small", "batch"), VOCABS, GROUPS, FORMS)]
    cells += [Cell("decode", *each) for each in product(MAIN, GROUPS, FORMS)]
    cells += [Cell("hostile", *each, "array") for each in product(MAIN, HOSTILE)]
    cells += [Cell("hello", vocab, form=form) for vocab, form in product(MAIN, FORMS)]
    return cells + [Cell("load", vocab) for vocab in VOCABS]


def choose(words: list[str]) -> list[Cell]:
    """Return the cells with the named words; words of one kind are alternatives.

    >>> [cell.vocab for cell in choose(["load", "words", "kimi"])]
    ['words', 'kimi']
    """
    kinds = [set(kind) for kind in zip(*map(astuple, all_cells()), strict=True)]
    if strange := set(words) - set().union(*kinds):
        known = ", ".join(word for kind in kinds for word in sorted(kind) if word)
        raise ValueError(f"{', '.join(sorted(strange))} names no cells; there are {known}")
    wanted = [kind & set(words) or kind for kind in kinds]
    return [
        cell
        for cell in all_cells()
        if all(value in kind for value, kind in zip(astuple(cell), wanted, strict=True))
    ]


def text_file(cell: Cell) -> str:
    """Return the name of the file with a cell's text, or texts."""
    match cell.task:
        case "large" | "decode":
            return f"{cell.texts}.large"
        case "small" | "batch":
            return f"{cell.texts}.small"
        case "hostile":
            return f"hostile.{HOSTILE[cell.texts]}"
        case task:
            return task


def ids_file(cell: Cell) -> str:
    """Return the name of the file with tiktoken's ids of that text."""
    return f"{cell.vocab}.{text_file(cell)}.npz"
