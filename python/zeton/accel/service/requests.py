"""A request, from when it is accepted until its client says that it has the answer."""

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from zeton.accel.service.errors import RefusedError
from zeton.accel.service.protocol import Kind, Options, frame, join_answer, pack_refusal

if TYPE_CHECKING:
    from zeton.accel.service.fairness import Share

__all__ = ["Packed", "Request"]

Packed = tuple[bytes, bytes]
"""How many ids each text has, and the ids."""


@dataclass(slots=True, eq=False)
class Request:
    """Texts under an id of their client, and later their answer."""

    number: int
    digest: bytes
    """Of its body: another request under the same id is refused."""
    options: Options
    texts: list[bytes]
    size: int
    """Bytes of its body."""
    since: float = field(default_factory=time.monotonic)
    answer: bytes | None = None
    """The frame that goes to the client."""
    _parts: dict[int, Packed] = field(default_factory=dict)
    _texts_done: int = 0

    def fill(self, share: "Share", packed: Packed) -> bool:
        """Take the ids of a share; say whether the answer has just become whole.

        What comes a second time, because a card was given up too early, is left alone.
        """
        if self.answer is not None or share.first in self._parts:
            return False
        self._parts[share.first] = packed
        self._texts_done += len(share.texts)
        if self._texts_done < len(self.texts):
            return False
        body = join_answer([self._parts[first] for first in sorted(self._parts)])
        self.answer = frame(Kind.IDS, self.number, body)
        self.texts = []  # All of them were taken out of the queue.
        self._parts.clear()
        return True

    def refuse(self, error: RefusedError) -> bool:
        """Answer with a refusal; say whether it is the first answer."""
        if self.answer is not None:
            return False
        self.answer = frame(Kind.REFUSED, self.number, pack_refusal(error))
        self._parts.clear()
        return True
