"""Messages become ids, a mask and spans; what is too long loses whole exchanges."""

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias, get_args

from zeton._engine import find_special
from zeton.chat.messages import Conversation, Message, check_order, parse
from zeton.chat.template import Part, Role, Template, tokenizer_of
from zeton.chat.values import listed, shown
from zeton.errors import ChatError
from zeton.tokenizer import Tokenizer

__all__ = ["Keep", "Rendered", "Renderer", "Span"]

Keep: TypeAlias = Literal["last", "first", "error"]
"""Which exchanges stay when a chat is too long; "error" refuses it."""


class Span(NamedTuple):
    """Which ids a message brought, or a part of it: `ids[start:stop]`.

    A message that joins another is encoded with it, and has the span of their one text.
    """

    start: int
    stop: int
    message: int
    """The message's index in the conversation as given."""
    part: int | None
    """The part's index, its marks included; None for a whole message with its marks."""
    role: str


class Rendered(NamedTuple):
    """A chat as ids, a mask that is 1 where an id is learned, and spans by rising start."""

    ids: list[int]
    mask: list[int]
    spans: list[Span]


class Renderer:
    """A template bound to a tokenizer. Threads may share it."""

    def __init__(self, template: Template, tok: Tokenizer) -> None:
        """Encode the marks, the only text in which specials are found."""
        tok = tokenizer_of(tok)
        others = tok.specials.keys() - template.specials
        for name in template.specials:
            if name not in tok.specials:
                found = f"the tokenizer has no special {shown(name)}"
                raise ChatError(f"{found}; the template {shown(template.name)} needs it")

        def encode(mark: str) -> list[int]:
            if others and (name := find_special(tok, mark, others)):
                found = f"the mark {shown(mark)} holds the special {shown(name)}"
                raise ChatError(f"{found}; list it in the specials of {shown(template.name)}")
            return tok.encode(mark, allowed_special=template.specials)

        def marks(owner: Role | Part, *, learned: bool) -> _Marks:
            return _Marks(encode(owner.start), encode(owner.end), int(learned))

        self._template = template
        self._encode = tok.encode
        self._begin = encode(template.begin)
        self._joining = {name for name, role in template.roles.items() if role.joins is not None}
        self._roles: dict[str, _Marks] = {}
        self._parts: dict[str, dict[str | None, _Marks]] = {}
        for name, role in template.roles.items():
            self._roles[name] = marks(role, learned=role.learned)
            self._parts[name] = {
                kind: marks(part, learned=role.learned and part.learned)
                for kind, part in [(None, Part()), *role.parts.items()]
            }

    def render(
        self, conversation: Conversation, *, max_tokens: int | None = None, keep: Keep = "last"
    ) -> Rendered:
        """Render a chat to learn from.

        One that is longer than `max_tokens` loses whole exchanges, but never its beginning, its
        last question or all that is learned; where that is still too long, its last answer is cut.
        """
        return self._render(conversation, max_tokens, keep, None)

    def render_prompt(
        self, conversation: Conversation, *, max_tokens: int | None = None, keep: Keep = "last"
    ) -> Rendered:
        """Render a chat and the start of an answer, for a model to go on.

        One that is longer than `max_tokens` loses whole exchanges, but never its beginning or the
        last one.
        """
        answers = self._roles[self._template.answers].start
        return self._render(conversation, max_tokens, keep, answers)

    def _render(
        self, conversation: object, max_tokens: int | None, keep: Keep, answer: list[int] | None
    ) -> Rendered:
        """Render a chat to learn from, or a prompt that ends with the start of an answer."""
        _check_limit(max_tokens, keep)
        messages = parse(self._template, conversation)
        if answer is not None:
            check_order(self._template, "the answer", self._template.answers, messages[-1].role)
        whole = self._write(messages, answer)
        if max_tokens is None or len(whole.ids) <= max_tokens:
            return whole
        if keep == "error":
            found = f"the chat has {len(whole.ids)} tokens and max_tokens is {max_tokens}"
            raise ChatError(f'{found}; shorten it, or keep its "last" or "first" exchanges')
        kept = self._shorten(messages, whole, max_tokens, keep, answer)
        return self._cut(self._write(kept, answer), max_tokens, answer)

    def _write(self, messages: list[Message], answer: list[int] | None) -> Rendered:
        rendered = Rendered(self._begin.copy(), [0] * len(self._begin), [])
        joined: list[Message] = []
        for message in messages:
            if message.role in self._joining:
                joined.append(message)
            else:
                self._write_message(message, joined, rendered)
                joined = []
        rendered.ids.extend(answer or ())
        rendered.mask.extend([0] * len(answer or ()))
        return rendered

    def _write_message(self, message: "Message", joined: list[Message], rendered: Rendered) -> None:
        ids, mask, spans = rendered
        at, role, parts = message.joined_by(joined)
        marks = self._roles[role]
        start, place = len(ids), len(spans)
        ids += marks.start
        mask += [0] * len(marks.start)
        for part_at, (kind, text) in enumerate(parts):
            part = self._parts[role][kind]
            part_start = len(ids)
            ids += part.start
            ids += self._encode(text)
            ids += part.end
            mask += [part.learned] * (len(ids) - part_start)
            for other in joined:
                spans.append(Span(part_start, len(ids), other.at, None, other.role))
                spans.append(Span(part_start, len(ids), other.at, 0, other.role))
            spans.append(Span(part_start, len(ids), at, part_at, role))
        ids += marks.end
        mask += [marks.learned] * len(marks.end)
        spans.insert(place, Span(start, len(ids), at, None, role))

    def _shorten(
        self,
        messages: list[Message],
        whole: Rendered,
        max_tokens: int,
        keep: Keep,
        answer: list[int] | None,
    ) -> list[Message]:
        """Return the messages before the first question and those of the exchanges that stay."""
        head, exchanges = self._divide(messages)
        if not exchanges:
            return messages
        spans = {span.message: span for span in whole.spans if span.part is None}
        edges = [spans[exchanges[0][0].at].start] + [spans[each[-1].at].stop for each in exchanges]
        sizes = [stop - start for start, stop in pairwise(edges)]
        beside = len(whole.ids) - sum(sizes)
        kept = {len(exchanges) - 1}

        @cache
        def fixed(first: int) -> int:
            """Return how many ids there are beside the exchanges, where this is the first kept.

            They depend on it because a message that joins is encoded with what it joins.
            """
            if not head or head[-1].role not in self._joining:
                return beside
            return len(self._write(head + exchanges[first], answer).ids) - sizes[first]

        if answer is None and 1 not in whole.mask[edges[-2] :]:
            spread = enumerate(pairwise(edges))
            learned = [at for at, (start, stop) in spread if 1 in whole.mask[start:stop]]
            fits = [at for at in learned if sizes[at] + sizes[-1] + fixed(at) <= max_tokens]
            kept.update(fits[-1:] or sorted(learned, key=lambda at: sizes[at] + fixed(at))[:1])
        kept = _choose(sizes, kept, max_tokens, keep, fixed)
        return head + [message for at in sorted(kept) for message in exchanges[at]]

    def _divide(self, messages: list[Message]) -> tuple[list[Message], list[list[Message]]]:
        """Divide a chat into what comes before the first question, and the exchanges.

        A later message that joins a question belongs to its exchange.
        """
        starts: list[int] = []
        for at, message in enumerate(messages):
            if message.role == self._template.asks:
                start = at
                while starts and messages[start - 1].role in self._joining:
                    start -= 1
                starts.append(start)
        edges = [*starts, len(messages)]
        return messages[: edges[0]], [messages[start:stop] for start, stop in pairwise(edges)]

    def _cut(self, rendered: Rendered, max_tokens: int, answer: list[int] | None) -> Rendered:
        """Cut the last answer, after an id to learn, if the chat is still too long and has one."""
        ids, mask, spans = rendered
        if len(ids) <= max_tokens:
            return rendered
        needed = len(ids)
        asked = [each for each in spans if each.role == self._template.asks and each.part is None]
        if asked and answer is None and 1 in mask[asked[-1].start :]:
            needed = max(asked[-1].stop, mask.index(1, asked[-1].start) + 1)
        if needed > max_tokens:
            found = f"max_tokens is {max_tokens}"
            raise ChatError(f"{found}; what is never dropped of this chat needs at least {needed}")
        learned = max_tokens - mask[:max_tokens][::-1].index(1)
        stop = max(asked[-1].stop, learned)  # What follows is read by no one.
        spans = [span._replace(stop=min(span.stop, stop)) for span in spans if span.start < stop]
        return Rendered(ids[:stop], mask[:stop], spans)


class _Marks(NamedTuple):
    """The marks of a role or a part as ids, and 1 if it is learned."""

    start: list[int]
    end: list[int]
    learned: int


def _choose(
    sizes: list[int], kept: set[int], max_tokens: int, keep: Keep, fixed: Callable[[int], int]
) -> set[int]:
    """Keep more exchanges, from the side that is asked for, while they fit."""
    others = [at for at in range(len(sizes)) if at not in kept]
    chosen = set(kept)
    first = min(kept)
    size = sum(sizes[at] for at in kept)
    for at in others if keep == "first" else reversed(others):
        first = min(first, at)
        size += sizes[at]
        if size + fixed(first) > max_tokens:
            break
        chosen.add(at)
    return chosen


def _check_limit(max_tokens: object, keep: object) -> None:
    if max_tokens is not None:
        if not isinstance(max_tokens, int) or isinstance(max_tokens, bool):
            raise TypeError(f"max_tokens is an int or None, not {type(max_tokens).__name__}")
        if max_tokens < 1:
            raise ChatError("max_tokens is less than 1; it must be at least 1")
    if not isinstance(keep, str) or keep not in get_args(Keep):
        raise ChatError(f"keep is {shown(keep)}; it must be one of {listed(get_args(Keep))}")
