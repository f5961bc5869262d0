"""A request, from its acceptance until the client confirms the answer."""

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from zeton.accel.service.errors import RefusedError
from zeton.accel.service.protocol import Kind, Options, frame, join_answer, pack_refusal

if TYPE_CHECKING:
    from zeton.accel.service.fairness import Share

__all__ = ["PackedIds", "Request"]

PackedIds = tuple[bytes, bytes]
"""Numbers of ids of each text, and all ids, both as bytes of u32."""


@dataclass(slots=True, eq=False)
class Request:
    """The texts of a request, later its answer."""

    number: int
    digest: bytes
    """Digest of the body; a different body under the same id is refused."""
    options: Options
    texts: list[bytes]
    size: int
    """Size of the body in bytes."""
    since: float = field(default_factory=time.monotonic)
    answer: bytes | None = None
    """The frame for the client."""
    _parts: dict[int, PackedIds] = field(default_factory=dict)
    _texts_done: int = 0

    def fill(self, share: "Share", packed: PackedIds) -> bool:
        """Add the ids of a share; return whether they complete the answer.

        A share that was answered before is ignored; a card given up too early may answer late.
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
        """Answer with a refusal; return whether it is the first answer."""
        if self.answer is not None:
            return False
        self.answer = frame(Kind.REFUSED, self.number, pack_refusal(error))
        self._parts.clear()
        return True
