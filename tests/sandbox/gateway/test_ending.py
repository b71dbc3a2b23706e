"""The end of a session: nobody waits on for a model, keys do not come back, and what was broken off is so again."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from gateway_kit import KEY, Canned, ask, canned, chat_answer, provider, real, send, streamed

from takeover.sandbox.gateway.cassette import CassetteWriter
from takeover.sandbox.gateway.desk import Desk
from takeover.sandbox.gateway.exchange import Gone, HttpRequest, ResponsePart
from takeover.sandbox.gateway.gateway import Files, Gateway, Report
from takeover.sandbox.gateway.real import Real
from takeover.sandbox.gateway.recording import Recording
from takeover.sandbox.gateway.redaction import MARK, Redactor, Secret
from takeover.sandbox.gateway.replay import Replaying
from takeover.sandbox.gateway.routes import Api
from takeover.sandbox.gateway.settings import Settings
from takeover.sandbox.gateway.targets import Target
from takeover.sandbox.gateway.upstream import Answer, Upstream, UpstreamCall
from takeover.sandbox.gateway.volatile import NOTHING_VOLATILE

SCOPE = "t.1/1-session"
PIECE = b'data: {"id":"a","model":"m-1","choices":[{"index":0,"delta":{"content":"Hel"}}]}\n\n'


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """A server that takes every connection and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def target(server: socket.socket) -> Real:
    return Real({"openai": Target(f"http://127.0.0.1:{server.getsockname()[1]}", None, "KEY", needs_key=False)})


class Told:
    """An upstream that says when it was called."""

    def __init__(self, inner: Upstream) -> None:
        self.paced, self._inner, self.called = inner.paced, inner, threading.Event()

    def send(self, call: UpstreamCall) -> Answer:
        self.called.set()
        return self._inner.send(call)

    def end(self) -> None:
        self._inner.end()

    def close(self) -> None:
        self._inner.close()


def ended(upstream: Upstream, ready: Callable[[], object]) -> tuple[Report, float]:
    """The report of a session whose only call nobody answers, and how long its end took."""
    gateway, gone = Gateway(upstream, Settings(drain=0.1)), Gone()
    # Whoever hung up reads nothing: the parts run dry without an end.
    thread = threading.Thread(target=lambda: list(gateway.handle(ask(Api.CHAT), gone)))
    thread.start()
    ready()
    gone.set()
    before = time.monotonic()
    report = gateway.close()
    thread.join(10)
    assert not thread.is_alive()
    return report, time.monotonic() - before


def test_a_silent_provider_keeps_no_thread(silent: socket.socket) -> None:
    """Whoever waits for the first byte of an answer does so no longer than the session lives; it may be billed."""
    kept: list[socket.socket] = []
    upstream = target(silent).upstream(SCOPE, NOTHING_VOLATILE)
    report, seconds = ended(upstream, lambda: kept.append(silent.accept()[0]))
    kept[0].close()
    assert seconds < 10
    assert (report.totals.failures, report.totals.billed_unknown, report.totals.unmetered) == (1, 1, 0)
    assert not report.totals.ended_on_failure
    assert report.failure is None


def test_what_nobody_waited_for_is_so_again(silent: socket.socket, tmp_path: Path) -> None:
    """A call that was under way at the end of a session is answered as little when the cassette is played."""
    cassette = tmp_path / "c.jsonl"
    supply = Recording(target(silent), CassetteWriter(cassette, Redactor()))
    kept: list[socket.socket] = []
    first, _ = ended(supply.upstream(SCOPE, NOTHING_VOLATILE), lambda: kept.append(silent.accept()[0]))
    supply.close()
    kept[0].close()
    player = Replaying(cassette)
    told = Told(player.upstream(SCOPE, NOTHING_VOLATILE))
    again, seconds = ended(told, lambda: told.called.wait(20))
    player.close()
    assert first.totals.failures == 1
    assert again.totals == first.totals
    assert seconds < 10


def test_a_stream_that_was_left_goes_on_again(tmp_path: Path) -> None:
    """The agent that is played to does not see the end that our hanging up was."""
    cassette, hold = tmp_path / "c.jsonl", threading.Event()
    with provider(streamed(PIECE, hold=hold)) as server:
        real_one = Real({"openai": Target(server.url, None, "KEY", needs_key=False)})
        supply = Recording(real_one, CassetteWriter(cassette, Redactor()))
        with Gateway(supply.upstream(SCOPE, NOTHING_VOLATILE), Settings(drain=0.1)) as gateway:
            gone = Gone()
            parts = gateway.handle(ask(Api.CHAT, stream=True), gone)
            assert b"Hel" in next(parts).body
            gone.set()
            list(parts)
        hold.set()
        supply.close()
    player = Replaying(cassette)
    with Gateway(player.upstream(SCOPE, NOTHING_VOLATILE), Settings(drain=0.1)) as again:
        gone = Gone()
        parts = again.handle(ask(Api.CHAT, stream=True), gone)
        assert b"Hel" in next(parts).body
        rest: list[ResponsePart] = []
        thread = threading.Thread(target=lambda: rest.extend(parts))
        thread.start()
        thread.join(0.3)
        assert thread.is_alive()
        gone.set()
        thread.join(10)
        assert not thread.is_alive()
    player.close()
    assert again.report().totals == gateway.report().totals


@pytest.mark.parametrize("stream", [False, True])
def test_a_key_that_the_provider_repeats_stays_here(stream: bool, tmp_path: Path) -> None:
    """In the answer's text, over the edge of two chunks, in its headers: neither the agent nor a file gets it."""
    half = len(KEY) // 2
    if stream:
        first = PIECE.replace(b"Hel", b"x" + KEY[:half].encode(), 1)
        cut = first.index(KEY[:half].encode()) + half
        answer = streamed(first[:cut], KEY[half:].encode() + first[cut:], b"data: [DONE]\n\n")
    else:
        answer = canned(chat_answer(KEY))
    answer = Canned(answer.chunks, kind=answer.kind, headers=(("x-request-id", KEY),))
    redactor = Redactor([Secret(KEY)])
    files = Files(tmp_path / "t.json", tmp_path / "c.jsonl")
    with provider(answer) as server, real(server.url) as upstream:
        with Gateway(upstream, redactor=redactor, files=files) as gateway:
            response = send(gateway, ask(Api.CHAT, stream=stream))
        assert KEY in str(server.seen[0].headers)
    assert MARK.encode() in response.body
    everything = response.body + str(response.headers).encode() + files_bytes(tmp_path)
    assert KEY.encode() not in everything


def files_bytes(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


def test_a_handler_that_raises_hangs_nobody() -> None:
    """The agent sees a connection that breaks, whoever runs the session is told once, and what was raised is kept."""

    class Broken:
        def handle(self, request: HttpRequest, gone: Gone | None = None) -> Iterator[ResponsePart]:
            yield ResponsePart(b"a", more=True, status=200)
            raise ZeroDivisionError(request.path)

    sent: list[tuple[int, bool]] = []
    told: list[int] = []
    done = threading.Semaphore(0)

    def send_(header: dict[str, object], body: bytes) -> None:
        sent.append((int(str(header["id"])), bool(header.get("cut"))))
        if header.get("cut"):
            done.release()

    desk = Desk(Broken(), send_, lambda: told.append(1))  # type: ignore[arg-type]
    for number in (1, 2):
        head = {"t": "request", "id": number, "method": "GET", "path": f"/{number}", "headers": [], "more": False}
        desk.take(head, b"")
        assert done.acquire(timeout=20)
    desk.close(20)
    assert sent == [(1, False), (1, True), (2, False), (2, True)]
    assert told == [1]
    assert isinstance(desk.broken, ZeroDivisionError)
    assert str(desk.broken) == "/1"
