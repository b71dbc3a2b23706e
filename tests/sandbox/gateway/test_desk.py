"""Frames of the wire become requests and responses; a hostile guest gets nowhere, and nothing waits on it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from gateway_kit import KEY, ask, provider, real, sse, streamed
from hypothesis import given
from hypothesis import strategies as st

from takeover.sandbox.cutoff import parse
from takeover.sandbox.errors import WireBroken
from takeover.sandbox.gateway import desk as desk_module
from takeover.sandbox.gateway.desk import Desk
from takeover.sandbox.gateway.exchange import Gone, HttpRequest, ResponsePart
from takeover.sandbox.gateway.gateway import Gateway
from takeover.sandbox.gateway.routes import Api
from takeover.sandbox.gateway.script import Fault, Shell, Turn, turn
from takeover.sandbox.gateway.scripted import Scripted
from takeover.sandbox.gateway.settings import Settings


class Guest:
    """The other end: what was sent to it, by request."""

    def __init__(self) -> None:
        self.frames: list[tuple[dict[str, Any], bytes]] = []
        self.came = threading.Condition()

    def send(self, header: Mapping[str, Any], body: bytes) -> None:
        with self.came:
            self.frames.append((json.loads(json.dumps(dict(header))), body))
            self.came.notify_all()

    def of(self, number: int) -> list[tuple[dict[str, Any], bytes]]:
        return [frame for frame in self.frames if frame[0]["id"] == number]

    def wait(self, number: int) -> list[tuple[dict[str, Any], bytes]]:
        """All frames of a response, once it has ended."""
        with self.came:
            assert self.came.wait_for(lambda: any(not header["more"] for header, _ in self.of(number)), 20)
            return self.of(number)


def opening(request: HttpRequest, number: int, *, more: bool = False) -> dict[str, Any]:
    headers = [list(pair) for pair in request.headers]
    return {
        "t": "request",
        "id": number,
        "method": request.method,
        "path": request.path,
        "headers": headers,
        "more": more,
    }


def test_a_request_and_its_response() -> None:
    """In one frame, or in pieces; several at a time, each under its number."""
    guest, asked = Guest(), ask(Api.CHAT, stream=True)
    with Gateway(Scripted([turn(Shell("ls"), say="Hello.")])) as gateway:
        desk = Desk(gateway, guest.send)
        desk.take(opening(asked, 1), asked.body)
        desk.take(opening(asked, 2, more=True), asked.body[:10])
        desk.take({"t": "request-body", "id": 2, "more": True}, asked.body[10:20])
        desk.take({"t": "request-body", "id": 2, "more": False}, asked.body[20:])
        one, two = guest.wait(1), guest.wait(2)
        desk.close()

    assert one[0][0] == {
        "t": "response",
        "id": 1,
        "status": 200,
        "headers": [["content-type", "text/event-stream"]],
        "more": True,
    }
    assert {header["t"] for header, _ in one[1:]} == {"response-body"}
    assert one[-1][0] == {"t": "response-body", "id": 1, "more": False}
    assert b"".join(body for _, body in one) == b"".join(body for _, body in two)


def test_a_broken_response_says_so() -> None:
    """The guest must let the agent see a connection that broke, not a response that ended."""
    guest, asked = Guest(), ask(Api.CHAT, stream=True)
    with Gateway(Scripted([Turn("some words to say", fault=Fault(cut_after=2))])) as gateway:
        desk = Desk(gateway, guest.send)
        desk.take(opening(asked, 1), asked.body)
        assert guest.wait(1)[-1][0]["cut"] is True
        desk.close()


def test_a_request_that_is_gone() -> None:
    """Before it is complete it is forgotten; after, its answer is read to its end and not sent."""
    guest, asked, hold = Guest(), ask(Api.CHAT, stream=True), threading.Event()
    done = sse(
        {"choices": [{"delta": {}, "finish_reason": "stop"}]},
        {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}},
    )
    with (
        provider(streamed(*sse({"choices": [{"delta": {"content": "x"}}]}), *done, hold=hold)) as server,
        real(server.url) as up,
    ):
        gateway = Gateway(up, Settings(drain=0.5))
        desk = Desk(gateway, guest.send)
        desk.take(opening(asked, 1, more=True), b"{")
        desk.take({"t": "request-gone", "id": 1}, b"")
        desk.take({"t": "request-body", "id": 1, "more": False}, b"}")
        desk.take(opening(asked, 2), asked.body)
        while not guest.of(2):
            time.sleep(0.01)
        desk.take({"t": "request-gone", "id": 2}, b"")
        desk.take({"t": "request-gone", "id": 99}, b"")
        hold.set()
        desk.close(5)
        report = gateway.close()

    assert guest.of(1) == []
    assert report.tokens == 7


class Slow:
    """Answers when told."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.live = 0

    def handle(self, request: HttpRequest, gone: Gone | None = None) -> Iterator[ResponsePart]:
        self.live += 1
        self.go.wait(10)
        yield ResponsePart(b"", False, 200)


def test_too_many_at_one_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A flood of requests does not become a flood of threads."""
    monkeypatch.setattr(desk_module, "LIVE_LIMIT", 5)
    slow, guest, asked = Slow(), Guest(), ask(Api.MESSAGES)
    desk = Desk(slow, guest.send)
    for number in range(20):
        desk.take(opening(asked, number), asked.body)
    refused = [guest.wait(number)[0][0]["status"] for number in range(5, 20)]
    slow.go.set()
    desk.close(5)

    assert refused == [404] * 15
    assert slow.live == 5


def test_bodies_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """One body, and all that are not answered yet; what is small and becomes large when it is read is large."""
    monkeypatch.setattr(desk_module, "BODY_LIMIT", 1000)
    monkeypatch.setattr(desk_module, "HELD_LIMIT", 2500)
    slow, guest, asked = Slow(), Guest(), ask(Api.CHAT)
    slow.go.set()
    desk = Desk(slow, guest.send)
    for number in range(4):
        desk.take(opening(asked, number, more=True), b"x" * 800)
    desk.take({"t": "request-body", "id": 0, "more": True}, b"x" * 800)
    statuses = [guest.wait(number)[0][0]["status"] for number in (0, 3)]
    desk.close()

    assert statuses == [413, 404]
    assert slow.live == 0
    slow.go.clear()
    desk = Desk(slow, guest.send)
    for number in range(10, 13):
        desk.take(opening(asked, number), b"x" * 500)
    desk.take(opening(asked, 13), b"[" * 100)
    assert [guest.wait(number)[0][0]["status"] for number in (12, 13)] == [404, 413]
    slow.go.set()
    assert [guest.wait(number)[0][0]["status"] for number in (10, 11)] == [200, 200]
    while desk._held:  # what was answered makes room
        time.sleep(0.01)
    desk.take(opening(asked, 20), b"x" * 1000)
    assert guest.wait(20)[0][0]["status"] == 200
    desk.close(5)


def test_a_number_is_used_once() -> None:
    """Under way it names one request."""
    guest, asked, slow = Guest(), ask(Api.CHAT), Slow()
    desk = Desk(slow, guest.send)
    desk.take(opening(asked, 1), b"")
    with pytest.raises(WireBroken):
        desk.take(opening(asked, 1), b"")
    slow.go.set()
    guest.wait(1)
    desk.close(5)


@given(st.dictionaries(st.sampled_from(["t", "id", "method", "path", "headers", "more"]), st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=5) | st.sampled_from(["request", "request-body", "request-gone", "POST"]),
    lambda inner: st.lists(inner, max_size=3), max_leaves=6)), st.binary(max_size=20))  # fmt: skip
def test_any_frame(header: dict[str, Any], body: bytes) -> None:
    """It is a request, or the wire is broken; nothing else happens."""
    desk = Desk(Gateway(Scripted([])), Guest().send)
    try:
        desk.take(header, body)
    except WireBroken:
        pass
    finally:
        desk.close(5)


@pytest.mark.parametrize("failure", [OSError("gone"), WireBroken("gone"), ValueError("closed")])
def test_a_wire_that_is_gone(failure: Exception) -> None:
    """The agent is gone with it; the answer is read to its end and counted."""

    def send(header: Mapping[str, Any], body: bytes) -> None:
        raise failure

    gateway, asked = Gateway(Scripted([turn(Shell("ls"))])), ask(Api.CHAT, stream=True)
    desk = Desk(gateway, send)
    desk.take(opening(asked, 1), asked.body)
    desk.close(5)

    assert gateway.close().totals.answers == 1


def test_what_a_cutoff_does_comes_before_its_404() -> None:
    """The callback has returned before the response goes out: a stop on the same wire is read first."""
    order: list[str] = []
    guest, asked = Guest(), ask(Api.CHAT)
    cut: Callable[[Any], None] = lambda fired: order.append("stop")

    def send(header: Mapping[str, Any], body: bytes) -> None:
        order.append(str(header.get("status", "body")))
        guest.send(header, body)

    with Gateway(Scripted([turn(Shell("ls"))] * 3), rule=parse("turns:1"), on_cutoff=cut) as gateway:
        desk = Desk(gateway, send)
        for number in (1, 2):
            desk.take(opening(asked, number), asked.body)
            guest.wait(number)
        desk.close()

    assert order == ["200", "stop", "404"]
    assert KEY not in str(order)
