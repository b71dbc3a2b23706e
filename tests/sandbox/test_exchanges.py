"""Requests of an agent on the host's side: answered in threads, and never faster than the agent reads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from takeover.sandbox.errors import WireBroken
from takeover.sandbox.exchanges import WINDOW, Courier, Exchanges
from takeover.sandbox.gateway.exchange import PART_LIMIT, Gone, HttpRequest, ResponsePart, whole
from takeover.sandbox.guest.connection import PORTION


class Guest:
    """What was sent to it."""

    def __init__(self) -> None:
        self.frames: list[tuple[dict[str, Any], int]] = []
        self.came = threading.Condition()

    def send(self, header: Mapping[str, Any], body: bytes) -> None:
        with self.came:
            self.frames.append((dict(header), len(body)))
            self.came.notify_all()

    @property
    def bytes(self) -> int:
        return sum(size for _, size in self.frames)

    def wait(self, condition: Callable[[], bool]) -> None:
        with self.came:
            assert self.came.wait_for(condition, 20)


def request(number: int, *, more: bool = False) -> dict[str, Any]:
    return {"t": "request", "id": number, "method": "POST", "path": "/v1", "headers": [["A", "b"]], "more": more}


def test_a_large_part_goes_in_several_frames() -> None:
    """A frame holds 1 MiB; only the first has the status, only the last ends the response."""
    guest = Guest()
    courier = Courier(guest.send)
    courier.begin(7)
    head = {"t": "response", "id": 7, "status": 200, "headers": [], "more": False}
    thread = threading.Thread(target=courier.send, args=(head, bytes(3 * PART_LIMIT + 1)))
    thread.start()
    guest.wait(lambda: guest.bytes == 2 * PART_LIMIT)
    courier.taken(7, 2 * PART_LIMIT)
    thread.join(20)

    assert [(h["t"], h["more"], size) for h, size in guest.frames] == [
        ("response", True, PART_LIMIT), ("response-body", True, PART_LIMIT),
        ("response-body", True, PART_LIMIT), ("response-body", False, 1),
    ]  # fmt: skip


@pytest.mark.parametrize("end", ["taken", "gone", "closed"])
def test_who_does_not_read_is_waited_for(end: str) -> None:
    """At most the window is under way; it goes on when some was taken, and is dropped when nobody is there."""
    guest = Guest()

    def answer(asked: HttpRequest, gone: Gone) -> Iterator[ResponsePart]:
        for number in range(8):
            yield ResponsePart(bytes(PART_LIMIT), number < 7, None if number else 200)

    exchanges = Exchanges(answer, guest.send)
    exchanges.take(request(1), b"")
    guest.wait(lambda: guest.bytes == WINDOW)
    exchanges.take(request(2, more=True), b"")  # others are not held up
    time.sleep(0.05)
    assert guest.bytes == WINDOW
    (thread,) = [thread for thread in threading.enumerate() if thread.name == "gateway-1"]
    if end == "taken":
        for number in range(6):
            exchanges.take({"t": "response-taken", "id": 1, "n": PART_LIMIT}, b"")
            guest.wait(lambda number=number: guest.bytes == WINDOW + (number + 1) * PART_LIMIT)
        assert guest.frames[-1][0]["more"] is False
    elif end == "gone":
        exchanges.take({"t": "request-gone", "id": 1}, b"")
    else:
        exchanges.close()
    thread.join(20)
    exchanges.close()
    assert not thread.is_alive()
    assert guest.bytes == (8 * PART_LIMIT if end == "taken" else WINDOW)


def test_two_who_wait_never_wait_for_each_other() -> None:
    """What the guest may keep to itself leaves room for a whole part."""
    assert WINDOW >= PART_LIMIT + PORTION


def test_frames_that_cannot_be() -> None:
    """Numbers that are none, a number used twice, counts below nothing, and more requests than a guest can have."""
    exchanges = Exchanges(lambda asked, gone: whole(200, (), b""), Guest().send)
    exchanges.take(request(1, more=True), b"")
    for header in (
        {**request(2), "id": "2"}, {**request(2), "id": -2}, {"t": "request-gone"}, {"t": "response-taken", "id": 1},
        {"t": "response-taken", "id": 1, "n": -1}, {**request(2), "method": 3}, request(1),
    ):  # fmt: skip
        with pytest.raises(WireBroken):
            exchanges.take(header, b"")
    exchanges.take({"t": "response-taken", "id": 99, "n": 1 << 40}, b"")
    exchanges.take({"t": "request-gone", "id": 99}, b"")
    for number in range(10, 1000):
        exchanges.take(request(number, more=True), b"")

    def more() -> None:
        for number in range(1000, 2000):
            exchanges.take(request(number, more=True), b"")

    with pytest.raises(WireBroken, match="more requests"):
        more()
    exchanges.close()
