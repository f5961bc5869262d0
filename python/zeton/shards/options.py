"""Options of shards: checked once, kept in the manifest, sent to every worker."""

from dataclasses import asdict, dataclass
from shlex import quote
from typing import Any

from zeton.chat import Template
from zeton.chat.templates import TEMPLATES
from zeton.corpus import OnError
from zeton.errors import ShardError, SpecialError
from zeton.plural import counted
from zeton.shards.formats import FORMATS, Format
from zeton.suggest import did_you_mean
from zeton.tokenizer import Tokenizer

__all__ = ["Options", "checked", "template_of"]


SHARD_TOKENS = 100_000_000

SHARD_TOKENS_MIN = 1024
"""Smaller shards would be more files than a folder is made for."""


@dataclass(frozen=True)
class Options:
    """All that the bytes of the shards depend on, beside the tokenizer and the corpus."""

    format: str = "bin"
    field: str = "text"
    texts_end_with: str = ""
    """The end of a text in a plain file, a character a byte; "" for the end of the file."""
    allowed_special: str | tuple[str, ...] | None = None
    bos: int | None = None
    eos: int | None = None
    shard_size: int = SHARD_TOKENS
    shuffle: int | None = None
    """The seed, if texts are shuffled."""
    validation: float = 0.0
    validation_seed: int = 0
    chat: str | None = None
    """A template as JSON, if texts are chats."""
    max_tokens: int | None = None
    """The most that a chat may have."""
    pack: int | None = None
    pad: int | None = None
    on_error: OnError = "raise"

    @property
    def end(self) -> bytes:
        """The bytes that end a text in a plain file."""
        return self.texts_end_with.encode("latin-1")

    @property
    def layout(self) -> Format:
        """The format."""
        return FORMATS[self.format]

    @property
    def is_arranged(self) -> bool:
        """Whether texts must all be encoded before the first of them has its place."""
        return self.shuffle is not None or self.pack is not None

    def to_json(self) -> dict[str, Any]:
        """Return the options as JSON has them."""
        plain = asdict(self)
        if isinstance(self.allowed_special, tuple):
            plain["allowed_special"] = list(self.allowed_special)
        return plain

    @classmethod
    def from_json(cls, plain: dict[str, Any]) -> "Options":
        """Return the options that `to_json` wrote."""
        specials = plain.get("allowed_special")
        if isinstance(specials, list):
            plain = plain | {"allowed_special": tuple(specials)}
        return cls(**plain)


def checked(tok: Tokenizer, given: dict[str, Any]) -> Options:
    """Return the options that were given, or refuse them; names of specials become ids."""
    for name in ("bos", "eos", "pad"):
        given[name] = _id(tok, name, given.get(name))
    if isinstance(given.get("chat"), Template):
        given["chat"] = given["chat"].to_json()
    end = given.get("texts_end_with") or ""
    given["texts_end_with"] = end.decode("latin-1") if isinstance(end, bytes) else _latin(end)
    specials = given.get("allowed_special")
    if specials is not None and not isinstance(specials, str):
        given["allowed_special"] = tuple(sorted(specials)) or None
    options = Options(**given)
    if options.format not in FORMATS:
        hint = did_you_mean(options.format, FORMATS)
        raise ShardError(f"the format is {options.format!r}{hint}")
    _check_counts(options)
    _check_end(options.end)
    options.layout.check(tok.vocab_size, options.shard_size)
    if options.chat is not None:
        _check_chat(tok, options)
    elif options.max_tokens is not None:
        raise ShardError("max_tokens is for chats; give chat= as well, or pack=")
    return options


def template_of(name: str | Template, tok: Tokenizer) -> Template:
    """Return a template: one of ours by its name, the tokenizer's own, or the file's."""
    from pathlib import Path  # noqa: PLC0415 - few shards are of chats.

    if isinstance(name, Template):
        return name
    if name in TEMPLATES:
        return TEMPLATES[name]
    if name == "tokenizer":
        found = Template.of(tok)
        if found is None:
            raise ShardError("the tokenizer's file holds no template; name one, or a file of JSON")
        return found
    if not Path(name).is_file():
        hint = did_you_mean(name, [*TEMPLATES, "tokenizer"])
        raise ShardError(f"{name!r} is neither a template nor a file of JSON{hint}")
    return Template.from_json(Path(name).read_text())


def _id(tok: Tokenizer, option: str, given: int | str | None) -> int | None:
    if given is None:
        return None
    specials = tok.specials
    if isinstance(given, str) and given in specials:
        return specials[given]
    if isinstance(given, str) and not (given.isascii() and given.isdigit()):
        ways = f"train with --special {quote(given)}, or add it with tok.with_specials"
        hint = did_you_mean(given, specials) or f"; it has none: {ways}"
        raise SpecialError(f"{option} is {given!r}, which is no special of the tokenizer{hint}")
    found = int(given)
    if not 0 <= found < tok.vocab_size:
        raise ShardError(f"{option} is {found}; ids go from 0 to {tok.vocab_size - 1}")
    return found


def _latin(end: str) -> str:
    return end.encode().decode("latin-1")


def _check_counts(options: Options) -> None:
    for name in ("shard_size", "pack", "max_tokens"):
        value = getattr(options, name)
        if value is not None and not (isinstance(value, int) and 1 <= value < 2**62):
            raise ShardError(f"{name} is {value!r}; it must be at least 1 token")
    for name in ("shuffle", "validation_seed"):
        value = getattr(options, name)
        if value is not None and not (isinstance(value, int) and 0 <= value < 2**64):
            raise ShardError(f"the seed {name} is {value!r}; give an int from 0 to 2^64-1")
    if not 0.0 <= options.validation < 1.0:
        found = options.validation
        raise ShardError(f"validation is {found}; it is a share, from 0 to less than 1")
    if options.on_error not in {"raise", "skip"}:
        raise ShardError(f"on_error is {options.on_error!r}; it must be 'raise' or 'skip'")
    if options.pad is not None and options.pack is None:
        raise ShardError("pad fills rows that are packed; give pack= as well")
    if options.shard_size < SHARD_TOKENS_MIN:
        size = counted(options.shard_size, "token")
        least = f"give at least {SHARD_TOKENS_MIN:,}; {SHARD_TOKENS:,} is usual"
        raise ShardError(f"shard_size is {size}, too few for a file; {least}")
    if options.pack is not None and options.shard_size < options.pack:
        size = f"shard_size is {options.shard_size:,}"
        raise ShardError(f"{size}, less than one row; pack is {options.pack:,}")


def _check_end(end: bytes) -> None:
    """Refuse an end that can overlap itself: the ends of texts would depend on text far before."""
    if any(end.startswith(end[at:]) for at in range(1, len(end))):
        raise ShardError(f"texts end with {end!r}, which can overlap itself; give another end")


def _check_chat(tok: Tokenizer, options: Options) -> None:
    Template.from_json(options.chat or "").bind(tok)
    if options.bos is not None or options.eos is not None:
        raise ShardError("a chat's template has its own marks; give no bos and no eos")
    if options.texts_end_with or options.allowed_special:
        raise ShardError("chats are JSON lines; texts_end_with and allowed_special are for texts")
