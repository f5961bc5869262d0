"""A conversation as people give it becomes messages that are known to be valid."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from zeton.chat.template import Template
from zeton.chat.values import get, get_text, listed, shown
from zeton.errors import ChatError

__all__ = ["Conversation", "Message", "check_order", "parse"]

Conversation: TypeAlias = Mapping[str, object] | Sequence[Mapping[str, object]]
"""Messages, or a mapping that holds them as "messages"."""


class Message(NamedTuple):
    """A message that is known to be valid."""

    at: int
    role: str
    parts: list[tuple[str | None, str]]
    """Types and texts; a str is one part, of type None."""

    def joined_by(self, others: "list[Message]") -> "Message":
        """Return the message with the texts of others before its own."""
        if not others:
            return self
        match self.parts:
            case [(None, text)]:
                texts = [before for other in others for _, before in other.parts]
                return self._replace(parts=[(None, "".join([*texts, text]))])
        found = f"message {others[-1].at} joins message {self.at}, which has parts"
        raise ChatError(f"{found}; its content must be a str")


def parse(template: Template, conversation: object) -> list[Message]:
    """Turn a conversation into messages that are known to be valid."""
    if isinstance(conversation, Mapping):
        conversation = get(conversation, "messages", "the conversation")
    if not isinstance(conversation, Sequence) or isinstance(conversation, str | bytes):
        found = f"the conversation is {shown(conversation)}"
        raise ChatError(f'{found}; it must be a list, or a mapping with "messages"')
    if not conversation:
        raise ChatError("the conversation is empty; give at least one message")
    messages: list[Message] = []
    last = ""
    for at, given in enumerate(conversation):
        where = f"message {at}"
        message = _parse_message(template, given, at, where)
        check_order(template, where, message.role, last)
        messages.append(message)
        last = message.role
    if template.roles[last].joins is not None:
        found = f"the last message is from {shown(last)}, which joins the next"
        raise ChatError(f"{found}; give one after it")
    return messages


def _parse_message(template: Template, given: object, at: int, where: str) -> Message:
    name = get_text(given, "role", where)
    role = template.roles.get(name)
    if role is None:
        raise ChatError(f"{where} is from {shown(name)}; there are {listed(template.roles)}")
    content = get(given, "content", where)
    if isinstance(content, str):
        return Message(at, name, [(None, content + (role.joins or ""))])
    if not role.parts or not isinstance(content, list | tuple):
        expected = "a str or a list of parts" if role.parts else "a str"
        raise ChatError(f"the content of {where} is {shown(content)}; it must be {expected}")
    parts: list[tuple[str | None, str]] = []
    for part_at, part in enumerate(content):
        part_where = f"part {part_at} of {where}"
        kind = get_text(part, "type", part_where)
        if kind not in role.parts:
            found = f"{part_where} has the type {shown(kind)}"
            raise ChatError(f"{found}; {shown(name)} has {listed(role.parts)}")
        parts.append((kind, get_text(part, "text", part_where)))
    return Message(at, name, parts)


def check_order(template: Template, where: str, name: str, last: str) -> None:
    """Refuse a role where it may not stand."""
    after = template.roles[name].after
    if after is None or last in after:
        return
    found = f"{where} is from {shown(name)} after {listed([last])}"
    raise ChatError(f"{found}; {shown(name)} may follow {listed(after) or 'nothing'}")
