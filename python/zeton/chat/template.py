"""Chat templates: the marks, roles and special tokens of a chat format, as data.

A template holds no code, so JSON carries it. Its fields are checked when it is made, and it never
changes afterwards. `zeton.chat.templates` has the published formats.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from zeton._engine import with_specials
from zeton.chat.values import get, join_names, quote
from zeton.encoder_core import EncoderCore
from zeton.errors import ChatError
from zeton.suggest import did_you_mean

if TYPE_CHECKING:
    from zeton.chat.messages import Conversation
    from zeton.chat.render import Keep, Rendered, Renderer

__all__ = ["Part", "Role", "Template", "tokenizer_of"]

_Kind = TypeVar("_Kind", bound=EncoderCore)

NOTE = "chat.template"
"""The note of a `.zeton` file that holds a template."""

JOINS_TO = ("next", "last")
"""The messages that can take a joined text in."""


@dataclass(frozen=True)
class Part:
    """The marks around one type of part, and whether the part is in the loss mask.

    >>> Part("<|python_start|>", "<|python_end|>").in_loss
    True
    """

    start: str = ""
    end: str = ""
    in_loss: bool = True
    """Whether its ids, marks included, are in the loss mask where its role is."""
    last_end: str | None = None
    """The end mark where the part ends a chat to learn from, in place of `end`."""
    only_last: bool = False
    """Whether the part is written in the last message only and dropped from earlier ones."""

    def __post_init__(self) -> None:
        """Check the fields."""
        _settle(self)


@dataclass(frozen=True)
class Role:
    """The marks around the messages of one role, and the roles that it may follow.

    >>> Role("<|user|>", after=("", "assistant")).in_loss
    False
    """

    start: str = ""
    end: str = ""
    in_loss: bool = False
    """Whether the text and the end mark are in the loss mask; the start mark never is."""
    parts: Mapping[str, Part] = field(default_factory=dict, hash=False)
    """The types of parts that a message may have in place of one text."""
    after: tuple[str, ...] | None = None
    """The roles that it may follow, "" for the start of the chat; None for any."""
    joins: str | None = None
    """The separator between its text and the message that takes the text in; None for no join."""
    joins_to: str = "next"
    """The message that takes a joined text in: the "next" one, or the "last" question."""
    strip: bool = False
    """Whether white space is removed from both ends of each text."""
    suffix: str = ""
    """The text after each text of a message, encoded together with it."""
    default: str | None = None
    """The text of this role that a chat begins with if its first message has another role."""
    text_type: str | None = None
    """The type of part that a plain text becomes; None for a text without marks of its own."""
    start_each: bool = False
    """Whether every part gets the start mark, which is in the loss mask from the second part on."""

    def __post_init__(self) -> None:
        """Check the fields, each alone and together."""
        _settle(self)
        if self.joins is not None and (self.start or self.end or self.parts):
            raise ChatError(
                "a role that joins has a start, an end or parts; remove them, "
                "because its text becomes part of another message"
            )
        if self.joins is not None and self.default is not None:
            raise ChatError("a role that joins has a default; remove one of the two")
        if self.joins_to not in JOINS_TO:
            found = f"joins_to is {quote(self.joins_to)}"
            raise ChatError(f"{found}{did_you_mean(self.joins_to, JOINS_TO)}")
        if self.text_type is not None and self.text_type not in self.parts:
            found = f"text_type is {quote(self.text_type)}, which is no type of part of this role"
            raise ChatError(f"{found}{did_you_mean(self.text_type, self.parts)}")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the fields."""
        return Role, tuple(_plain(self).values())


@dataclass(frozen=True)
class Template:
    """The form of a chat: its marks, roles and special tokens. A template never changes.

    >>> roles = {"user": Role("<|ask|>"), "assistant": Role("<|say|>", "<|ask|>", in_loss=True)}
    >>> template = Template("short", roles=roles, specials=("<|ask|>", "<|say|>"))
    >>> ranks = {bytes([byte]): byte for byte in range(256)}
    >>> from zeton import Tokenizer
    >>> tok = Tokenizer(ranks, specials={"<|ask|>": 256, "<|say|>": 257})
    >>> chat = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "!"}]
    >>> template.render(chat, tokenizer=tok)[:2]
    ([256, 63, 257, 33, 256], [0, 0, 0, 1, 1])
    """

    name: str
    begin: str = ""
    """The mark at the start of every chat."""
    roles: Mapping[str, Role] = field(default_factory=dict, hash=False)
    specials: tuple[str, ...] = ()
    """The special tokens that marks may contain."""
    asks: str = "user"
    """The role whose messages begin an exchange."""
    answers: str = "assistant"
    """The role that answers a prompt."""

    def __post_init__(self) -> None:
        """Check the fields, each alone and together."""
        _settle(self)
        if "" in self.specials:
            raise ChatError("a special of the template is empty; remove it")
        after = [name for role in self.roles.values() for name in role.after or () if name]
        for name in (self.asks, self.answers, *after):
            if name not in self.roles:
                found = f"the template names the role {quote(name)}, which it does not define"
                raise ChatError(f"{found}{did_you_mean(name, self.roles)}")
        for name in (self.asks, self.answers):
            if self.roles[name].joins is not None:
                raise ChatError(
                    f"the role {quote(name)} asks or answers, so it cannot join another message; "
                    "set its joins to None"
                )
        defaults = [name for name, role in self.roles.items() if role.default is not None]
        if len(defaults) > 1:
            raise ChatError(
                f"{join_names(defaults)} have a default each; a chat begins with at most one"
            )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the fields."""
        return Template, tuple(_plain(self).values())

    def render(
        self,
        conversation: "Conversation",
        *,
        tokenizer: EncoderCore,
        max_tokens: int | None = None,
        keep: "Keep" = "last",
    ) -> "Rendered":
        """Render one chat for training; see `Renderer.render`."""
        return self.bind(tokenizer).render(conversation, max_tokens=max_tokens, keep=keep)

    def render_prompt(
        self,
        conversation: "Conversation",
        *,
        tokenizer: EncoderCore,
        max_tokens: int | None = None,
        keep: "Keep" = "last",
    ) -> "Rendered":
        """Render one chat as a prompt for a model; see `Renderer.render_prompt`."""
        return self.bind(tokenizer).render_prompt(conversation, max_tokens=max_tokens, keep=keep)

    def bind(self, tok: EncoderCore) -> "Renderer":
        """Return a renderer for many chats; it encodes the marks once."""
        from zeton.chat.render import Renderer  # noqa: PLC0415 - it imports this module.

        return Renderer(self, tok)

    def to_json(self) -> str:
        """Write the template as JSON."""
        return json.dumps(self, default=_plain, indent=2, ensure_ascii=False)

    @staticmethod
    def from_json(text: str) -> "Template":
        """Read a template from JSON; a field that is left out has its default."""
        if not isinstance(text, str):
            raise TypeError(f"text must be a str, not {type(text).__name__}")
        try:
            value = json.loads(text, object_pairs_hook=_without_doubles)
        except (ValueError, RecursionError) as error:
            raise ChatError(f"the template is not valid JSON: {error}") from None
        get(value, "name", "template")
        return _read(Template, value, "template")

    def attach_to(self, tok: _Kind) -> _Kind:
        """Return the same tokenizer with the template, which its file then carries.

        The tokenizer must have the special tokens of the template.
        """
        tok = cast("_Kind", tokenizer_of(tok))
        self.bind(tok)
        notes = tok.made_by | {NOTE: self.to_json()}
        kept = with_specials(tok, list(tok.specials.items()), notes)
        return tok._like(kept)  # noqa: SLF001 - our own constructor.

    @staticmethod
    def of(tok: EncoderCore) -> "Template | None":
        """Return the template that a tokenizer's file carries, or None if it carries none."""
        note = tokenizer_of(tok).made_by.get(NOTE)
        return None if note is None else Template.from_json(note)


def tokenizer_of(tok: object) -> EncoderCore:
    """Return a tokenizer, also from a wrapper that holds one as its attribute `tokenizer`."""
    found = getattr(tok, "tokenizer", tok)
    if not isinstance(found, EncoderCore):
        kind = type(tok).__name__
        raise TypeError(
            f"the tokenizer must be a zeton.Tokenizer, not {kind}; zeton.load reads one"
        )
    return found


_Value = TypeVar("_Value", bound=Part | Role | Template)


_KINDS: dict[str, type[Part | Role]] = {"parts": Part, "roles": Role}
"""The type of the values in each field that is a mapping."""

_OPTIONAL = {"after", "joins", "default", "text_type", "last_end"}
"""The fields that may be None."""


def _settle(value: Part | Role | Template) -> None:
    """Check the fields of a new value, and make lists and mappings immutable."""
    for name, item in list(vars(value).items()):
        settled = item
        place = f"{name} of a {type(value).__name__.lower()}"
        match name:
            case _ if name in _OPTIONAL and item is None:
                continue
            case "after" | "specials":
                settled = _texts(item, place)
            case "parts" | "roles":
                settled = _frozen(item, _KINDS[name], place)
            case "in_loss" | "only_last" | "strip" | "start_each":
                _check(item, bool, place)
            case _:
                _check(item, str, place)
        object.__setattr__(value, name, settled)


def _check(item: object, kind: type, place: str) -> None:
    if not isinstance(item, kind):
        raise ChatError(f"{place} is {quote(item)}; it must be a {kind.__name__}")
    if isinstance(item, str) and any("\ud800" <= character <= "\udfff" for character in item):
        raise ChatError(f"{place} is {quote(item)}, which holds a lone surrogate; remove it")


def _texts(items: object, place: str) -> tuple[str, ...]:
    if not isinstance(items, list | tuple):
        raise ChatError(f"{place} is {quote(items)}; it must be a list of str")
    for item in items:
        _check(item, str, f"an item in {place}")
    return tuple(items)


def _frozen(items: object, kind: type, place: str) -> Mapping[str, object]:
    if not isinstance(items, Mapping):
        raise ChatError(f"{place} is {quote(items)}; it must be a mapping")
    for name, item in items.items():
        _check(name, str, f"a name in {place}")
        _check(item, kind, f"{quote(name)} in {place}")
        if not name:
            raise ChatError(f"a name in {place} is empty; it must have at least one character")
    return MappingProxyType(dict(items))


def _plain(value: Any) -> dict[str, object]:  # noqa: ANN401 - a value that JSON does not know.
    """Return the fields of a value, with plain mappings, which JSON and pickle can write."""
    items = {each.name: getattr(value, each.name) for each in fields(value)}
    return {name: dict(item) if isinstance(item, Mapping) else item for name, item in items.items()}


def _read(kind: type[_Value], value: object, where: str) -> _Value:
    """Build a template, a role or a part from its JSON object."""
    if not isinstance(value, dict):
        raise ChatError(f"{where} is {quote(value)}; it must be a JSON object")
    names = [each.name for each in fields(kind)]
    for key in value:
        if key not in names:
            raise ChatError(f"{where} has an unknown key {quote(key)}{did_you_mean(key, names)}")
    for key, inner in _KINDS.items():
        if isinstance(items := value.get(key), dict):
            value[key] = {
                name: _read(inner, item, f"{where}.{key}[{quote(name)}]")
                for name, item in items.items()
            }
    try:
        return kind(**value)
    except ChatError as error:
        raise ChatError(f"{where}: {error}") from None


def _without_doubles(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("an object has the same key twice")
    return value
