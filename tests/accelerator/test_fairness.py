"""Every client has its turn, by bytes; every text is taken once."""

from hypothesis import given, settings
from hypothesis import strategies as st

from zeton.accel.service import (
    Code,
    RefusedError,
)
from zeton.accel.service.fairness import FairQueue, Share
from zeton.accel.service.protocol import (
    HEADER_BYTES,
    Options,
    pack_ids,
    read_answer,
)
from zeton.accel.service.requests import Request


def waiting(*texts: bytes, options: Options = Options()) -> Request:  # noqa: B008
    return Request(1, b"", options, list(texts), sum(map(len, texts)))


def test_every_client_has_its_turn() -> None:
    queue = FairQueue()
    large = [waiting(b"a" * 10_000) for _ in range(200)]
    for request in large:
        queue.put("greedy", request)
    small = waiting(b"b")
    queue.put("modest", small)
    taken = queue.take(60_000)
    assert small in [share.request for share in taken]


def test_turns_are_of_bytes_not_of_requests() -> None:
    queue = FairQueue()
    for _ in range(400):
        queue.put("large", waiting(b"a" * 10_000))
    for _ in range(40_000):
        queue.put("small", waiting(b"b" * 84))
    got = {b"a": 0, b"b": 0}
    for _ in range(10):
        for share in queue.take(200_000):
            for text in share.texts:
                got[text[:1]] += len(text) + 16
    assert abs(got[b"a"] - got[b"b"]) < 50_000


def test_a_batch_has_one_set_of_options_and_others_come_next() -> None:
    queue = FairQueue()
    other = Options(allowed_special="all")
    for name in "abc":
        queue.put(name, waiting(b"x", options=other if name == "b" else Options()))
        queue.put(name, waiting(b"y"))
    first = [share.request.options for share in queue.take(1 << 20)]
    assert first == [Options()] * 4
    assert not queue.take(1 << 20, waits=False, options=Options())  # It is the turn of b.
    assert [share.request.options for share in queue.take(1 << 20)] == [other]
    assert [share.texts for share in queue.take(1 << 20)] == [[b"y"]]


@settings(max_examples=40)
@given(st.lists(st.lists(st.integers(0, 40_000), min_size=1, max_size=5), max_size=12), st.data())
def test_every_text_is_taken_once(sizes: list[list[int]], data: st.DataObject) -> None:
    queue = FairQueue()
    requests = [waiting(*(bytes(size) for size in each)) for each in sizes]
    for at, request in enumerate(requests):
        queue.put(at % 3, request)
    places: dict[Request, list[int]] = {request: [] for request in requests}
    while shares := queue.take(data.draw(st.integers(1, 60_000)), waits=False):
        for share in shares:
            assert share.texts == share.request.texts[share.first : share.first + len(share.texts)]
            places[share.request] += range(share.first, share.first + len(share.texts))
    assert all(places[request] == list(range(len(request.texts))) for request in requests)


def test_software_takes_what_cards_failed_with_twice_and_no_more() -> None:
    queue = FairQueue()
    queue.note_card(up=True)
    queue.put("client", waiting(b"poison"))
    for _ in range(2):
        assert not queue.take(1000, is_card=False, waits=False)
        queue.give_back(queue.take(1000))
    assert not queue.take(1000, waits=False)
    (share,) = queue.take(1000, is_card=False, waits=False)
    assert share.texts == [b"poison"]
    queue.put("client", waiting(b"more"))
    assert not queue.take(1000, is_card=False, waits=False)
    queue.note_card(up=False)
    assert queue.take(1000, is_card=False, waits=False)


def test_the_first_answer_stays() -> None:
    request = waiting(b"one", b"two")
    first, second = Share(request, 0, [b"one"]), Share(request, 1, [b"two"])
    assert not request.fill(first, pack_ids([[1]]))
    assert not request.fill(first, pack_ids([[9]]))
    assert request.fill(second, pack_ids([[2]]))
    assert not request.fill(second, pack_ids([[9]]))
    assert not request.refuse(RefusedError("late", Code.CARD))
    assert request.answer is not None
    assert read_answer(request.answer[HEADER_BYTES:], 2) == [[1], [2]]
