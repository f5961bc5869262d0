"""Frames: what clients and the service say to each other, as bytes.

A frame is a header of 16 bytes (bytes of the body: u32, kind: u8, three zeros, id: u64), then its
body; all numbers are little endian. The page docs/accelerator-service.md says what follows what.
"""

import asyncio
import json
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from zeton.accel.service.errors import Code, ProtocolError, RefusedError

__all__ = [
    "HEADER_BYTES",
    "HELLO_BYTES_MAX",
    "TEXT_COST",
    "VERSION",
    "Header",
    "Hello",
    "Kind",
    "Options",
    "Wanted",
    "frame",
    "grouped",
    "join_answer",
    "pack_hello",
    "pack_ids",
    "pack_refusal",
    "pack_request",
    "read_answer",
    "read_frame",
    "read_header",
    "read_hello",
    "read_refusal",
    "read_request",
    "read_welcome",
]

VERSION = 1
MAGIC = b"ZETN"
HEADER = struct.Struct("<IB3sQ")
HEADER_BYTES = HEADER.size
HELLO = struct.Struct("<4sHH16s")
HELLO_BYTES_MAX = 1 << 11
REQUEST = struct.Struct("<QII")
REQUEST_BYTES = 1 << 16
"""Bytes of the texts of a request, where a batch is cut into several."""

TEXT_COST = 4
"""Bytes of a request that each of its texts takes beside its own."""


class Kind(IntEnum):
    """What a frame is."""

    HELLO = 1
    WELCOME = 2
    ENCODE = 3
    IDS = 4
    DONE = 5
    HEALTH = 6
    METRICS = 7
    REFUSED = 8
    GOODBYE = 9


class Header(NamedTuple):
    """What stands before a body."""

    size: int
    kind: Kind
    number: int


class Hello(NamedTuple):
    """How a client begins."""

    session: bytes
    token: bytes


class Options(NamedTuple):
    """How texts are encoded: the keywords of `Tokenizer.encode_batch`."""

    allowed_special: str | tuple[str, ...] | None = None
    prepend: int | str | None = None
    append: int | str | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """A request as it came: its texts, how to encode them, and below which id all is done."""

    done: int
    options: Options
    texts: list[bytes]


def frame(kind: Kind, number: int, body: bytes = b"") -> bytes:
    r"""Return the bytes of a frame.

    >>> frame(Kind.DONE, 7)
    b'\x00\x00\x00\x00\x05\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00'
    """
    return HEADER.pack(len(body), kind, bytes(3), number) + body


def read_header(content: bytes) -> Header:
    """Read 16 bytes; what is no header is refused."""
    size, kind, zeros, number = HEADER.unpack(content)
    if zeros != bytes(3) or kind not in Kind._value2member_map_:
        raise ProtocolError(f"{content.hex()} begins no frame; is this a service of zeton?")
    return Header(size, Kind(kind), number)


async def read_frame(reader: asyncio.StreamReader) -> tuple[Header, bytes]:
    """Read a frame of whom one trusts; the service looks at the size first."""
    header = read_header(await reader.readexactly(HEADER_BYTES))
    return header, await reader.readexactly(header.size)


# ---- how a client begins ----


def pack_hello(session: bytes, token: bytes) -> bytes:
    """Return the body by which a client says who it is."""
    return HELLO.pack(MAGIC, VERSION, 0, session) + token


def read_hello(body: bytes) -> Hello:
    """Read who a client is; another protocol or version is refused."""
    if len(body) < HELLO.size or not body.startswith(MAGIC):
        raise ProtocolError("a client begins with something other than its hello")
    _, version, zero, session = HELLO.unpack_from(body)
    if version != VERSION or zero:
        raise RefusedError(
            f"the client speaks version {version} of the protocol; this is {VERSION}", Code.VERSION
        )
    return Hello(session, body[HELLO.size :])


def read_welcome(body: bytes) -> dict[str, Any]:
    """Read what a service says of itself."""
    try:
        said = json.loads(body)
        limits = {name: int(said[name]) for name in ("version", "body_bytes_max", "texts_max")}
        return {**said, **limits, "tokenizer": str(said["tokenizer"])}
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ProtocolError("what the service says of itself cannot be read") from None


# ---- texts to the service ----


def grouped(texts: Iterable[bytes], texts_max: int) -> Iterator[list[bytes]]:
    """Cut many texts into requests; a text that is large is alone in its own."""
    group: list[bytes] = []
    size = 0
    for text in texts:
        if group and (size + len(text) > REQUEST_BYTES or len(group) >= texts_max):
            yield group
            group, size = [], 0
        group.append(text)
        size += len(text) + TEXT_COST
    if group:
        yield group


def pack_request(done: int, options: Options, texts: Sequence[bytes]) -> bytes:
    """Return the body of a request."""
    chosen = {name: value for name, value in options._asdict().items() if value is not None}
    spelled = json.dumps(chosen, separators=(",", ":")).encode() if chosen else b""
    lengths = struct.pack(f"<{len(texts)}I", *map(len, texts))
    return b"".join([REQUEST.pack(done, len(spelled), len(texts)), spelled, lengths, *texts])


def read_request(body: bytes) -> Wanted:
    """Read the body of a request; what contradicts itself is refused."""
    if len(body) < REQUEST.size:
        raise malformed(f"it has {len(body)} bytes")
    done, options_size, count = REQUEST.unpack_from(body)
    first = REQUEST.size + options_size + TEXT_COST * count
    if first > len(body):
        raise malformed(f"{count} texts do not fit in {len(body)} bytes")
    options = read_options(body[REQUEST.size : REQUEST.size + options_size])
    lengths = np.frombuffer(body, "<u4", count, REQUEST.size + options_size)
    ends = np.concatenate([[first], first + np.cumsum(lengths, dtype=np.int64)]).tolist()
    if ends[-1] != len(body):
        raise malformed(f"its texts end at byte {ends[-1]} of {len(body)}")
    return Wanted(done, options, [body[start:end] for start, end in pairwise(ends)])


def read_options(spelled: bytes) -> Options:
    """Read how to encode, as JSON; nothing is the default."""
    if not spelled:
        return Options()
    try:
        chosen = json.loads(spelled)
    except (ValueError, RecursionError):
        raise malformed("its options are no JSON") from None
    if not isinstance(chosen, dict) or not chosen.keys() <= set(Options._fields):
        raise malformed(f"its options are not of {', '.join(Options._fields)}")
    names = chosen.get("allowed_special")
    if isinstance(names, list) and all(isinstance(name, str) for name in names):
        chosen["allowed_special"] = tuple(names)
    elif names is not None and names != "all":
        raise malformed('its allowed_special is neither "all" nor a list of names')
    for end in (chosen.get("prepend"), chosen.get("append")):
        if isinstance(end, bool) or not isinstance(end, (int, str, type(None))):
            raise malformed("what it prepends or appends is neither an id nor a name")
    return Options(**chosen)


def malformed(reason: str) -> RefusedError:
    """Say what is wrong with a request."""
    return RefusedError(f"the request is malformed: {reason}", Code.REQUEST)


# ---- ids to the client ----


def pack_ids(answers: Iterable[Sequence[int]]) -> tuple[bytes, bytes]:
    """Return how many ids each text has, and the ids, as two stretches of u32."""
    counts: list[int] = []
    ids: list[int] = []
    for answer in answers:
        counts.append(len(answer))
        ids += answer
    return np.array(counts, "<u4").tobytes(), np.array(ids, "<u4").tobytes()


def join_answer(parts: Sequence[tuple[bytes, bytes]]) -> bytes:
    """Join the parts of an answer, in order, to its body."""
    counts = b"".join(part[0] for part in parts)
    head = struct.pack("<I", len(counts) // TEXT_COST)
    return b"".join([head, counts, *(part[1] for part in parts)])


def read_answer(body: bytes, texts: int) -> list[list[int]]:
    """Read the ids of so many texts."""
    words = np.frombuffer(body, "<u4") if len(body) % 4 == 0 else np.zeros(0, "<u4")
    if len(words) < 1 + texts or words[0] != texts:
        raise ProtocolError(f"an answer of {len(body)} bytes is none to {texts} texts")
    ends = np.concatenate([[0], np.cumsum(words[1 : 1 + texts], dtype=np.int64)]).tolist()
    ids = words[1 + texts :].tolist()
    if ends[-1] != len(ids):
        raise ProtocolError(f"an answer has {len(ids)} ids, and says {ends[-1]}")
    return [ids[start:end] for start, end in pairwise(ends)]


# ---- refusals ----


def pack_refusal(error: RefusedError) -> bytes:
    """Return the body of a refusal."""
    return json.dumps({"code": error.code, "message": str(error)}).encode()


def read_refusal(body: bytes) -> RefusedError:
    """Read why something was refused."""
    try:
        said: Any = json.loads(body)
        return RefusedError(str(said["message"]), str(said["code"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ProtocolError("the service refused, and its reason cannot be read") from None
