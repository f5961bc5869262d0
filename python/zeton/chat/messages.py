"""A conversation, as callers pass it, becomes messages that are valid for a template."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from zeton.chat.template import Role, Template
from zeton.chat.values import get, get_text, join_names, quote
from zeton.errors import ChatError
from zeton.suggest import did_you_mean

__all__ = ["Conversation", "Message", "check_prompt", "parse"]

Conversation: TypeAlias = Mapping[str, object] | Sequence[Mapping[str, object]]
"""Messages, or a mapping that holds them as "messages"."""


class Message(NamedTuple):
    """A message that is valid for its template."""

    at: int
    role: str
    parts: list[tuple[str | None, str]]
    """Types and texts; a plain str is one part, of type None or of the role's `text_type`."""

    def joined_by(self, others: "list[Message]") -> "Message":
        """Return the message with the texts of others before its own."""
        if not others:
            return self
        match self.parts:
            case [(None, text)]:
                texts = [before for other in others for _, before in other.parts]
                return self._replace(parts=[(None, "".join([*texts, text]))])
        found = f"message {others[-1].at} ({others[-1].role}) joins message {self.at} ({self.role})"
        raise ChatError(f"{found}, whose content is a list of parts; it must be a str")


def parse(template: Template, conversation: object) -> list[Message]:
    """Check a conversation against a template, and return its messages in the order of writing.

    A message that joins the last question moves in front of it.
    """
    if isinstance(conversation, Mapping):
        conversation = get(conversation, "messages", "the conversation")
    if not isinstance(conversation, Sequence) or isinstance(conversation, str | bytes):
        found = f"the conversation is {quote(conversation)}"
        raise ChatError(f"{found}; it must be a list of messages, or a mapping with 'messages'")
    if not conversation:
        raise ChatError("the conversation is empty; give at least one message")
    messages: list[Message] = []
    last = ""
    for at, entry in enumerate(conversation):
        message = _parse_message(template, entry, at)
        _check_order(template, f"message {at}", message.role, last)
        messages.append(message)
        last = message.role
    if template.roles[last].joins is not None:
        found = f"the last message has the role {quote(last)}, whose text joins another message"
        raise ChatError(f"{found}; add the message that it joins")
    return _move_joined(template, messages)


def check_prompt(template: Template, last: str) -> None:
    """Refuse a prompt whose last message has a role that cannot be answered."""
    after = template.roles[template.answers].after
    if after is None or last in after:
        return
    found = f"the prompt ends with a message of {quote(last)}"
    expected = join_names([name for name in after if name], "or")
    raise ChatError(f"{found}, which {quote(template.answers)} cannot answer; end with {expected}")


def _move_joined(template: Template, messages: list[Message]) -> list[Message]:
    """Move messages that join the last question in front of it."""
    joining = {
        name
        for name, role in template.roles.items()
        if role.joins is not None and role.joins_to == "last"
    }
    moved = [each for each in messages if each.role in joining]
    if not moved:
        return messages
    others = [each for each in messages if each.role not in joining]
    asked = [at for at, each in enumerate(others) if each.role == template.asks]
    if not asked:
        found = f"message {moved[0].at} joins the last message of {quote(template.asks)}"
        raise ChatError(f"{found}, but there is none; add one")
    return [*others[: asked[-1]], *moved, *others[asked[-1] :]]


def _parse_message(template: Template, entry: object, at: int) -> Message:
    where = f"message {at}"
    name = get_text(entry, "role", where)
    role = template.roles.get(name)
    if role is None:
        found = f"{where} has the role {quote(name)}, which {quote(template.name)} does not have"
        raise ChatError(f"{found}{did_you_mean(name, template.roles)}")
    if isinstance(entry, Mapping) and entry.get("tool_calls"):
        found = f"{where} has tool_calls, which no template of zeton renders"
        raise ChatError(f"{found}; write the calls into its content, as the model expects them")
    content = get(entry, "content", where)
    if isinstance(content, str):
        return Message(at, name, [(role.text_type, _finish(role, content) + (role.joins or ""))])
    if not role.parts or not isinstance(content, list | tuple):
        expected = "a str or a list of parts" if role.parts else "a str"
        raise ChatError(f"the content of {where} is {quote(content)}; it must be {expected}")
    parts: list[tuple[str | None, str]] = []
    for part_at, part in enumerate(content):
        part_where = f"part {part_at} of {where}"
        kind = get_text(part, "type", part_where)
        if kind not in role.parts:
            found = f"{part_where} has the type {quote(kind)}, which {quote(name)} does not have"
            raise ChatError(f"{found}{did_you_mean(kind, role.parts)}")
        parts.append((kind, _finish(role, get_text(part, "text", part_where))))
    return Message(at, name, parts)


def _finish(role: Role, text: str) -> str:
    return (text.strip() if role.strip else text) + role.suffix


def _check_order(template: Template, where: str, name: str, last: str) -> None:
    """Refuse a role in a place where the template does not allow it."""
    after = template.roles[name].after
    if after is None or last in after:
        return
    allowed = [
        role for role, value in template.roles.items() if value.after is None or last in value.after
    ]
    found = f"{where} has the role {quote(name)}"
    if last:
        expected = f"after {quote(last)} comes {join_names(allowed, 'or')}"
        raise ChatError(f"{found} after a message of {quote(last)}; {expected}")
    raise ChatError(f"{found}, which cannot begin a chat; begin with {join_names(allowed, 'or')}")
