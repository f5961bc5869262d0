"""Templates: how chats are written, as data that JSON carries. They are valid and never change."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from zeton._engine import with_specials
from zeton.chat.values import get, listed, shown
from zeton.errors import ChatError
from zeton.tokenizer import Tokenizer

if TYPE_CHECKING:
    from zeton.chat.messages import Conversation
    from zeton.chat.render import Keep, Rendered, Renderer

__all__ = ["Part", "Role", "Template", "tokenizer_of"]

NOTE = "chat.template"
"""The note of a `.zeton` file that holds a template."""


@dataclass(frozen=True)
class Part:
    """How one type of part is written, and whether it is learned where its role is."""

    start: str = ""
    end: str = ""
    learned: bool = True

    def __post_init__(self) -> None:
        """Refuse what is no part."""
        _settle(self)


@dataclass(frozen=True)
class Role:
    """How the messages of one role are written, and where they may stand."""

    start: str = ""
    end: str = ""
    learned: bool = False
    """Whether a model learns the text and the end; it never learns the start."""
    parts: Mapping[str, Part] = field(default_factory=dict, hash=False)
    """The types of parts that a message may have in place of one text."""
    after: tuple[str, ...] | None = None
    """The roles that it may follow, "" for the beginning; None for any."""
    joins: str | None = None
    """What stands between its text and that of the next message, which takes it in."""

    def __post_init__(self) -> None:
        """Refuse what is no role."""
        _settle(self)
        if self.joins is not None and (self.start or self.end or self.parts):
            raise ChatError("a role joins and has marks or parts; one that joins is only a text")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as what it is made of."""
        return Role, tuple(_plain(self).values())


@dataclass(frozen=True)
class Template:
    """How chats are written. It is valid and never changes.

    >>> roles = {"user": Role("<|ask|>"), "assistant": Role("<|say|>", "<|ask|>", learned=True)}
    >>> template = Template("short", roles=roles, specials=("<|ask|>", "<|say|>"))
    >>> ranks = {bytes([byte]): byte for byte in range(256)}
    >>> tok = Tokenizer(ranks, specials={"<|ask|>": 256, "<|say|>": 257})
    >>> chat = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "!"}]
    >>> template.render(chat, tokenizer=tok)[:2]
    ([256, 63, 257, 33, 256], [0, 0, 0, 1, 1])
    """

    name: str
    begin: str = ""
    """What every chat begins with."""
    roles: Mapping[str, Role] = field(default_factory=dict, hash=False)
    specials: tuple[str, ...] = ()
    """The specials that may be found in marks."""
    asks: str = "user"
    """The role whose messages begin an exchange."""
    answers: str = "assistant"
    """The role in which a model goes on after a prompt."""

    def __post_init__(self) -> None:
        """Refuse what is no template."""
        _settle(self)
        if "" in self.specials:
            raise ChatError("a special of a template is empty; leave it out")
        after = [name for role in self.roles.values() for name in role.after or () if name]
        for name in (self.asks, self.answers, *after):
            if name not in self.roles:
                raise ChatError(f"there is no role {shown(name)}; there are {listed(self.roles)}")
        for name in (self.asks, self.answers):
            if self.roles[name].joins is not None:
                raise ChatError(f"{shown(name)} asks or answers and joins; it can only be one")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as what it is made of."""
        return Template, tuple(_plain(self).values())

    def render(
        self,
        conversation: "Conversation",
        *,
        tokenizer: Tokenizer,
        max_tokens: int | None = None,
        keep: "Keep" = "last",
    ) -> "Rendered":
        """Render one chat to learn from; see `Renderer.render`."""
        return self.bind(tokenizer).render(conversation, max_tokens=max_tokens, keep=keep)

    def render_prompt(
        self,
        conversation: "Conversation",
        *,
        tokenizer: Tokenizer,
        max_tokens: int | None = None,
        keep: "Keep" = "last",
    ) -> "Rendered":
        """Render one chat for a model to go on; see `Renderer.render_prompt`."""
        return self.bind(tokenizer).render_prompt(conversation, max_tokens=max_tokens, keep=keep)

    def bind(self, tok: Tokenizer) -> "Renderer":
        """Return what renders many chats: it encodes the marks once."""
        from zeton.chat.render import Renderer  # noqa: PLC0415 - it imports this module.

        return Renderer(self, tok)

    def to_json(self) -> str:
        """Write the template as JSON."""
        return json.dumps(self, default=_plain, indent=2, ensure_ascii=False)

    @staticmethod
    def from_json(text: str) -> "Template":
        """Read a template from JSON; what is left out has its default."""
        if not isinstance(text, str):
            raise TypeError(f"text is a str, not {type(text).__name__}")
        try:
            value = json.loads(text, object_pairs_hook=_without_doubles)
        except (ValueError, RecursionError) as error:
            raise ChatError(f"template is no JSON that can be read: {error}") from None
        get(value, "name", "template")
        return _read(Template, value, "template")

    def kept_in(self, tok: Tokenizer) -> Tokenizer:
        """Return the same tokenizer, whose file carries the template; it must have the specials."""
        tok = tokenizer_of(tok)
        self.bind(tok)
        notes = tok.made_by | {NOTE: self.to_json()}
        kept = with_specials(tok, list(tok.specials.items()), notes)
        return tok._like(kept)  # noqa: SLF001 - our own constructor.

    @staticmethod
    def of(tok: Tokenizer) -> "Template | None":
        """Return the template that a tokenizer's file carries, if it does."""
        note = tokenizer_of(tok).made_by.get(NOTE)
        return None if note is None else Template.from_json(note)


def tokenizer_of(tok: object) -> Tokenizer:
    """Return the tokenizer, also of one behind another surface, which holds it as `tokenizer`."""
    found = getattr(tok, "tokenizer", tok)
    if not isinstance(found, Tokenizer):
        raise TypeError(f"tok is a zeton.Tokenizer, not {type(tok).__name__}")
    return found


_Value = TypeVar("_Value", bound=Part | Role | Template)


_KINDS: dict[str, type[Part | Role]] = {"parts": Part, "roles": Role}
"""What the fields that are mappings hold."""


def _settle(value: Part | Role | Template) -> None:
    """Check the fields of a new value and give them forms that stay."""
    for name, item in list(vars(value).items()):
        settled = item
        what = f'"{name}" of a {type(value).__name__.lower()}'
        match name:
            case "after" | "joins" if item is None:
                continue
            case "after" | "specials":
                settled = _texts(item, what)
            case "parts" | "roles":
                settled = _frozen(item, _KINDS[name], what)
            case "learned":
                _check(item, bool, what)
            case _:
                _check(item, str, what)
        object.__setattr__(value, name, settled)


def _check(item: object, kind: type, what: str) -> None:
    if not isinstance(item, kind):
        raise ChatError(f"{what} is {shown(item)}; it must be a {kind.__name__}")
    if isinstance(item, str) and any("\ud800" <= character <= "\udfff" for character in item):
        raise ChatError(f"{what} is {shown(item)}; it must not have lone surrogates")


def _texts(items: object, what: str) -> tuple[str, ...]:
    if not isinstance(items, list | tuple):
        raise ChatError(f"{what} is {shown(items)}; it must be a list")
    for item in items:
        _check(item, str, f"an item in {what}")
    return tuple(items)


def _frozen(items: object, kind: type, what: str) -> Mapping[str, object]:
    if not isinstance(items, Mapping):
        raise ChatError(f"{what} is {shown(items)}; it must be a mapping")
    for name, item in items.items():
        _check(name, str, f"a name in {what}")
        _check(item, kind, f"{shown(name)} in {what}")
        if not name:
            raise ChatError(f"a name in {what} is empty; give it another")
    return MappingProxyType(dict(items))


def _plain(value: Any) -> dict[str, object]:  # noqa: ANN401 - what JSON does not know.
    """Return the fields of a value, with plain mappings, which JSON and pickle know."""
    items = {each.name: getattr(value, each.name) for each in fields(value)}
    return {name: dict(item) if isinstance(item, Mapping) else item for name, item in items.items()}


def _read(kind: type[_Value], value: object, where: str) -> _Value:
    """Make a template, a role or a part of the object that JSON has for it."""
    if not isinstance(value, dict):
        raise ChatError(f"{where} is {shown(value)}; it must be an object")
    names = [each.name for each in fields(kind)]
    for key in value:
        if key not in names:
            raise ChatError(f"{where} has the key {shown(key)}; it may have {listed(names)}")
    for key, inner in _KINDS.items():
        if isinstance(items := value.get(key), dict):
            value[key] = {
                name: _read(inner, item, f"{where}.{key}[{shown(name)}]")
                for name, item in items.items()
            }
    try:
        return kind(**value)
    except ChatError as error:
        raise ChatError(f"{where}: {error}") from None


def _without_doubles(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return value
