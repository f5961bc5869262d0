"""The protocol between clients and the service, as bytes.

A frame is a header of 16 bytes and a body; numbers are little endian:

    bytes 0-3    bytes of the body
    byte  4      kind
    bytes 5-7    0
    bytes 8-15   id of the request

docs/accelerator-service.md has the bodies and the order of frames.
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
    "EncodeRequest",
    "Header",
    "Hello",
    "Kind",
    "Options",
    "frame",
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
    "split_requests",
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
    """Kinds of frames."""

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
    """The header of a frame."""

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
class EncodeRequest:
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
    """Read the 16 bytes of a header; raise `ProtocolError` for any others."""
    size, kind, zeros, number = HEADER.unpack(content)
    if zeros != bytes(3) or kind not in Kind._value2member_map_:
        raise ProtocolError(
            f"received {content.hex()}, expected the header of a frame; is it a zeton service?"
        )
    return Header(size, Kind(kind), number)


async def read_frame(reader: asyncio.StreamReader) -> tuple[Header, bytes]:
    """Read a frame of a trusted peer, without a limit on its size."""
    header = read_header(await reader.readexactly(HEADER_BYTES))
    return header, await reader.readexactly(header.size)


# ---- HELLO and WELCOME ----


def pack_hello(session: bytes, token: bytes) -> bytes:
    """Return the body of HELLO."""
    return HELLO.pack(MAGIC, VERSION, 0, session) + token


def read_hello(body: bytes) -> Hello:
    """Read the body of HELLO; refuse other protocols and versions."""
    if len(body) < HELLO.size or not body.startswith(MAGIC):
        raise ProtocolError("the body of HELLO has another magic; is this a zeton client?")
    _, version, zero, session = HELLO.unpack_from(body)
    if version != VERSION or zero:
        raise RefusedError(
            f"the client has version {version} of the protocol, expected {VERSION}; update it",
            Code.VERSION,
        )
    return Hello(session, body[HELLO.size :])


def read_welcome(body: bytes) -> dict[str, Any]:
    """Read the body of WELCOME: the service's tokenizer and limits."""
    try:
        said = json.loads(body)
        limits = {name: int(said[name]) for name in ("version", "body_bytes_max", "texts_max")}
        return {**said, **limits, "tokenizer": str(said["tokenizer"])}
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ProtocolError("the body of WELCOME is invalid; is it a zeton service?") from None


# ---- texts to the service ----


def split_requests(texts: Iterable[bytes], texts_max: int) -> Iterator[list[bytes]]:
    """Cut many texts into requests; a large text has a request of its own."""
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
    """Return the body of ENCODE."""
    chosen = {name: value for name, value in options._asdict().items() if value is not None}
    spelled = json.dumps(chosen, separators=(",", ":")).encode() if chosen else b""
    lengths = struct.pack(f"<{len(texts)}I", *map(len, texts))
    return b"".join([REQUEST.pack(done, len(spelled), len(texts)), spelled, lengths, *texts])


def read_request(body: bytes) -> EncodeRequest:
    """Read the body of ENCODE; refuse an inconsistent one."""
    if len(body) < REQUEST.size:
        raise malformed_error(f"it has {len(body)} bytes")
    done, options_size, count = REQUEST.unpack_from(body)
    first = REQUEST.size + options_size + TEXT_COST * count
    if first > len(body):
        raise malformed_error(f"{count} texts do not fit in {len(body)} bytes")
    options = read_options(body[REQUEST.size : REQUEST.size + options_size])
    lengths = np.frombuffer(body, "<u4", count, REQUEST.size + options_size)
    ends = np.concatenate([[first], first + np.cumsum(lengths, dtype=np.int64)]).tolist()
    if ends[-1] != len(body):
        raise malformed_error(f"its texts end at byte {ends[-1]} of {len(body)}")
    return EncodeRequest(done, options, [body[start:end] for start, end in pairwise(ends)])


def read_options(spelled: bytes) -> Options:
    """Read the options, which are JSON or empty."""
    if not spelled:
        return Options()
    try:
        chosen = json.loads(spelled)
    except (ValueError, RecursionError):
        raise malformed_error("its options are not JSON") from None
    if not isinstance(chosen, dict) or not chosen.keys() <= set(Options._fields):
        raise malformed_error(f"its options are other than {', '.join(Options._fields)}")
    names = chosen.get("allowed_special")
    if isinstance(names, list) and all(isinstance(name, str) for name in names):
        chosen["allowed_special"] = tuple(names)
    elif names is not None and names != "all":
        raise malformed_error('its allowed_special is neither "all" nor a list of names')
    for end in (chosen.get("prepend"), chosen.get("append")):
        if isinstance(end, bool) or not isinstance(end, (int, str, type(None))):
            raise malformed_error("its prepend or append is neither an id nor a name")
    return Options(**chosen)


def malformed_error(reason: str) -> RefusedError:
    """Return the refusal of a malformed request."""
    return RefusedError(f"the request is malformed: {reason}", Code.REQUEST)


# ---- ids to the client ----


def pack_ids(answers: Iterable[Sequence[int]]) -> tuple[bytes, bytes]:
    """Return the number of ids of each text, and all ids, as two arrays of u32."""
    counts: list[int] = []
    ids: list[int] = []
    for answer in answers:
        counts.append(len(answer))
        ids += answer
    return np.array(counts, "<u4").tobytes(), np.array(ids, "<u4").tobytes()


def join_answer(parts: Sequence[tuple[bytes, bytes]]) -> bytes:
    """Return the body of IDS from its parts in order."""
    counts = b"".join(part[0] for part in parts)
    head = struct.pack("<I", len(counts) // TEXT_COST)
    return b"".join([head, counts, *(part[1] for part in parts)])


def read_answer(body: bytes, texts: int) -> list[list[int]]:
    """Read the body of IDS for a number of texts."""
    words = np.frombuffer(body, "<u4") if len(body) % 4 == 0 else np.zeros(0, "<u4")
    if len(words) < 1 + texts or words[0] != texts:
        raise ProtocolError(f"an answer of {len(body)} bytes does not have {texts} texts")
    ends = np.concatenate([[0], np.cumsum(words[1 : 1 + texts], dtype=np.int64)]).tolist()
    ids = words[1 + texts :].tolist()
    if ends[-1] != len(ids):
        raise ProtocolError(f"an answer has {len(ids)} ids, expected {ends[-1]}")
    return [ids[start:end] for start, end in pairwise(ends)]


# ---- refusals ----


def pack_refusal(error: RefusedError) -> bytes:
    """Return the body of REFUSED."""
    return json.dumps({"code": error.code, "message": str(error)}).encode()


def read_refusal(body: bytes) -> RefusedError:
    """Read the body of REFUSED."""
    try:
        said: Any = json.loads(body)
        return RefusedError(str(said["message"]), str(said["code"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ProtocolError("the body of REFUSED is invalid; is it a zeton service?") from None
