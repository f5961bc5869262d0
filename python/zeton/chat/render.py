"""Messages become ids, a loss mask and spans; a chat that is too long loses whole exchanges.

For example, a question and its answer:

    user       assistant        messages
    ↓          ↓
    [U] low ?  [A] low er [E]   tokens; [U], [A] and [E] are marks
    0   0   0  0   1   1  1     mask
"""

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias, get_args

from zeton._engine import find_special
from zeton.chat.messages import Conversation, Message, check_prompt, parse
from zeton.chat.template import Part, Role, Template, tokenizer_of
from zeton.chat.values import join_names, quote
from zeton.encoder_core import EncoderCore
from zeton.errors import ChatError
from zeton.suggest import did_you_mean

__all__ = ["Keep", "Rendered", "Renderer", "Span"]

Keep: TypeAlias = Literal["last", "first", "error"]
"""The exchanges that stay when a chat is too long; "error" raises a `ChatError` instead."""


class Span(NamedTuple):
    """The ids of a message, or of a part of it: `ids[start:stop]`.

    A message that joins another is encoded together with it, so both have the span of one text.
    """

    start: int
    stop: int
    message: int
    """The message's index in the conversation."""
    part: int | None
    """The part's index; None for the whole message. Marks are included."""
    role: str


class Rendered(NamedTuple):
    """A chat as ids, a loss mask (1 for each id to train on), and spans sorted by start."""

    ids: list[int]
    mask: list[int]
    spans: list[Span]


class Renderer:
    """A template bound to a tokenizer. Threads may share it."""

    def __init__(self, template: Template, tok: EncoderCore) -> None:
        """Encode the marks, the only text in which special tokens are recognised."""
        tok = tokenizer_of(tok)
        others = tok.specials.keys() - template.specials
        if missing := [name for name in template.specials if name not in tok.specials]:
            noun = "special token" if len(missing) == 1 else "special tokens"
            found = f"the tokenizer lacks the {noun} {join_names(missing)}"
            needed = f"which the template {quote(template.name)} needs"
            raise ChatError(f"{found}, {needed}; add them: tok.with_specials(template.specials)")

        def encode(mark: str) -> list[int]:
            if others and (name := find_special(tok, mark, others)):
                found = f"the mark {quote(mark)} contains the special token {quote(name)}"
                fix = f"add it to the specials of the template {quote(template.name)}"
                raise ChatError(f"{found}, which is not listed; {fix}")
            return tok.encode(mark, allowed_special=template.specials)

        def marks(role: Role, part: Part) -> _Marks:
            last_end = part.end if part.last_end is None else part.last_end
            in_loss = int(role.in_loss and part.in_loss)
            ends = encode(part.end), encode(last_end)
            return _Marks(encode(part.start), *ends, in_loss, part.only_last)

        self._template = template
        self._encode = tok.encode
        self._begin = encode(template.begin)
        self._defaults: dict[str, list[int]] = {}
        self._joining = {name for name, role in template.roles.items() if role.joins is not None}
        self._roles: dict[str, _Marks] = {}
        self._parts: dict[str, dict[str | None, _Marks]] = {}
        for name, role in template.roles.items():
            start, end = encode(role.start), encode(role.end)
            self._roles[name] = _Marks(start, end, end, int(role.in_loss), only_last=False)
            self._parts[name] = {
                kind: marks(role, part) for kind, part in [(None, Part()), *role.parts.items()]
            }
            if role.default is not None:
                self._defaults[name] = start + tok.encode(role.default + role.suffix) + end

    def render(
        self, conversation: Conversation, *, max_tokens: int | None = None, keep: Keep = "last"
    ) -> Rendered:
        """Render a chat for training.

        A chat longer than `max_tokens` loses whole exchanges. Its beginning, its last question and
        at least one id of the loss mask stay. If it is still too long, its last answer is cut.
        """
        return self._render(conversation, max_tokens, keep, None)

    def render_prompt(
        self, conversation: Conversation, *, max_tokens: int | None = None, keep: Keep = "last"
    ) -> Rendered:
        """Render a chat and the start mark of an answer, as a prompt for a model.

        A chat longer than `max_tokens` loses whole exchanges. Its beginning and its last exchange
        stay.
        """
        answers = self._roles[self._template.answers].start
        return self._render(conversation, max_tokens, keep, answers)

    def _render(
        self, conversation: object, max_tokens: int | None, keep: Keep, answer: list[int] | None
    ) -> Rendered:
        """Render a chat for training, or a prompt that ends with the start of an answer."""
        _check_limit(max_tokens, keep)
        messages = parse(self._template, conversation)
        if answer is not None:
            check_prompt(self._template, messages[-1].role)
        whole = self._write(messages, answer)
        if max_tokens is None or len(whole.ids) <= max_tokens:
            return whole
        if keep == "error":
            found = f"the chat has {len(whole.ids)} tokens, but max_tokens is {max_tokens}"
            raise ChatError(f"{found}; shorten it, or drop exchanges by keep='last' or 'first'")
        kept = self._shorten(messages, whole, max_tokens, keep, answer)
        return self._cut(self._write(kept, answer), max_tokens, answer)

    def _write(self, messages: list[Message], answer: list[int] | None) -> Rendered:
        rendered = Rendered(self._begin.copy(), [], [])
        for role, ids in self._defaults.items():
            if min(messages).role != role:
                rendered.ids.extend(ids)
        rendered.mask.extend([0] * len(rendered.ids))
        joined: list[Message] = []
        for at, message in enumerate(messages):
            if message.role in self._joining:
                joined.append(message)
            else:
                is_last = at == len(messages) - 1
                ends_chat = is_last and answer is None
                self._write_message(message, joined, rendered, is_last=is_last, ends_chat=ends_chat)
                joined = []
        rendered.ids.extend(answer or ())
        rendered.mask.extend([0] * len(answer or ()))
        return rendered

    def _write_message(
        self,
        message: Message,
        joined: list[Message],
        rendered: Rendered,
        *,
        is_last: bool,
        ends_chat: bool,
    ) -> None:
        ids, mask, spans = rendered
        at, role, parts = message.joined_by(joined)
        marks = self._roles[role]
        start_each = self._template.roles[role].start_each
        start, place = len(ids), len(spans)
        if not start_each:
            ids += marks.start
            mask += [0] * len(marks.start)
        for part_at, (kind, text) in enumerate(parts):
            part = self._parts[role][kind]
            if part.only_last and not is_last:
                continue
            if start_each:
                in_loss = part.in_loss if len(ids) > start else 0
                ids += marks.start
                mask += [in_loss] * len(marks.start)
            part_start = len(ids)
            ids += part.start
            ids += self._encode(text)
            ids += part.last_end if ends_chat and part_at == len(parts) - 1 else part.end
            mask += [part.in_loss] * (len(ids) - part_start)
            for other in joined:
                spans.append(Span(part_start, len(ids), other.at, None, other.role))
                spans.append(Span(part_start, len(ids), other.at, 0, other.role))
            spans.append(Span(part_start, len(ids), at, part_at, role))
        ids += marks.end
        mask += [marks.in_loss] * len(marks.end)
        spans.insert(place, Span(start, len(ids), at, None, role))

    def _shorten(
        self,
        messages: list[Message],
        whole: Rendered,
        max_tokens: int,
        keep: Keep,
        answer: list[int] | None,
    ) -> list[Message]:
        """Return the messages before the first question and the exchanges that stay."""
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
            """Return the number of ids outside the exchanges if this exchange is the first kept.

            The number depends on that exchange because a joined text is encoded with its question.
            """
            if not head or head[-1].role not in self._joining:
                return beside
            return len(self._write(head + exchanges[first], answer).ids) - sizes[first]

        if answer is None and 1 not in whole.mask[edges[-2] :]:
            spread = enumerate(pairwise(edges))
            trained = [at for at, (start, stop) in spread if 1 in whole.mask[start:stop]]
            fits = [at for at in trained if sizes[at] + sizes[-1] + fixed(at) <= max_tokens]
            kept.update(fits[-1:] or sorted(trained, key=lambda at: sizes[at] + fixed(at))[:1])
        kept = _choose(sizes, kept, max_tokens, keep, fixed)
        return head + [message for at in sorted(kept) for message in exchanges[at]]

    def _divide(self, messages: list[Message]) -> tuple[list[Message], list[list[Message]]]:
        """Divide a chat into the messages before the first question, and the exchanges.

        A message that joins a later question belongs to the exchange of that question.
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
        """Cut the last answer of a chat that is still too long, after an id of the loss mask."""
        ids, mask, spans = rendered
        if len(ids) <= max_tokens:
            return rendered
        needed = len(ids)
        asked = [each for each in spans if each.role == self._template.asks and each.part is None]
        if asked and answer is None and 1 in mask[asked[-1].start :]:
            needed = max(asked[-1].stop, mask.index(1, asked[-1].start) + 1)
        if needed > max_tokens:
            found = f"max_tokens is {max_tokens}, but the parts of this chat that always stay"
            raise ChatError(f"{found} have {needed} tokens; allow at least {needed}")
        trained = max_tokens - mask[:max_tokens][::-1].index(1)
        stop = max(asked[-1].stop, trained)  # No id after it is trained on.
        spans = [span._replace(stop=min(span.stop, stop)) for span in spans if span.start < stop]
        return Rendered(ids[:stop], mask[:stop], spans)


class _Marks(NamedTuple):
    """The marks of a role or a part as ids, and its flags."""

    start: list[int]
    end: list[int]
    last_end: list[int]
    in_loss: int
    only_last: bool


def _choose(
    sizes: list[int], kept: set[int], max_tokens: int, keep: Keep, fixed: Callable[[int], int]
) -> set[int]:
    """Keep more exchanges, beginning at the chosen side, while they fit."""
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
            raise TypeError(f"max_tokens must be an int or None, not {type(max_tokens).__name__}")
        if max_tokens < 1:
            raise ChatError("max_tokens is less than 1; give at least 1")
    if not isinstance(keep, str) or keep not in get_args(Keep):
        hint = did_you_mean(keep if isinstance(keep, str) else "", get_args(Keep))
        raise ChatError(f"keep is {quote(keep)}{hint}")
