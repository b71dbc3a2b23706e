"""What was recorded is played back byte for byte, and what was not is told with the nearest thing that was."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from gateway_kit import APIS, KEY, Fixed, Response, ask, body_of, collect, path_of, post

from takeover.sandbox.errors import InputError
from takeover.sandbox.gateway.cassette import Cassette, CassetteWriter
from takeover.sandbox.gateway.exchange import HttpRequest
from takeover.sandbox.gateway.gateway import Gateway
from takeover.sandbox.gateway.recording import Recording
from takeover.sandbox.gateway.redaction import Redactor, Secret
from takeover.sandbox.gateway.replay import Replaying
from takeover.sandbox.gateway.routes import Api
from takeover.sandbox.gateway.script import Fault, Shell, Turn, turn
from takeover.sandbox.gateway.scripted import Scripted
from takeover.sandbox.gateway.settings import Settings
from takeover.sandbox.gateway.upstream import Supply, UnknownRequest
from takeover.sandbox.gateway.volatile import COMMON, NOTHING_VOLATILE, Volatile

SCOPE = "tier2.State.agent.1/1-session"


def recording(
    path: Path, turns: Sequence[Turn], redactor: Redactor | None = None, *, append: bool = False
) -> Recording:
    return Recording(Fixed(Scripted(turns)), CassetteWriter(path, redactor or Redactor(), append=append))


def session(
    supply: Supply, *requests: HttpRequest, volatile: Volatile = NOTHING_VOLATILE, scope: str = SCOPE
) -> tuple[list[Response], Gateway]:
    """One session's requests and responses."""
    with Gateway(supply.upstream(scope, volatile), Settings(volatile=volatile)) as gateway:
        return [collect(gateway.handle(request)) for request in requests], gateway


@pytest.fixture(params=["calls.jsonl", "calls.jsonl.zst"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / request.param


@pytest.fixture
def play() -> Iterator[Callable[..., Replaying]]:
    """Opens cassettes, and closes them at the end."""
    with contextlib.ExitStack() as stack:

        def opener(path: Path, redactor: Redactor | None = None) -> Replaying:
            opened = Replaying(path, redactor)
            stack.callback(opened.close)
            return opened

        yield opener


def test_every_format_plays_back(path: Path, play: Callable[..., Replaying]) -> None:
    """All formats, streamed and not: status, headers, chunks, usage and turns are the same."""
    requests = [ask(api, f"task {api}", stream=stream) for api in APIS for stream in (False, True)]
    record = recording(path, [turn(Shell(f"echo é{n}"), say="I look.") for n in range(8)])
    first, one = session(record, *requests)
    record.close()
    played = play(path)
    second, other = session(played, *requests)

    assert second == first
    assert len(first[1].parts) > 5
    left, right = one.report(), other.report()
    assert (left.totals, left.findings, left.tokens) == (right.totals, right.findings, right.tokens)


def test_requests_come_in_any_order_and_number(path: Path, play: Callable[..., Replaying]) -> None:
    """The same request twice gets the two answers in turn; others in between do not matter."""
    upstream = Scripted([turn(say="one"), turn(say="two"), turn(say="three")])
    record = Recording(Fixed(upstream), CassetteWriter(path, Redactor()))
    again = ask(Api.CHAT, "a", stop="x")
    upstream._given.clear()
    first, _ = session(record, again, ask(Api.CHAT, "b"))
    upstream._given.clear()
    third, _ = session(record, again, scope="other/1-session")
    record.close()
    played = play(path)
    second, _ = session(played, ask(Api.CHAT, "b"), again)
    others, _ = session(played, again, scope="other/1-session")

    assert second == first[::-1]
    assert others == third
    assert b"three" in others[0].body


def test_another_day_plays_back(path: Path, play: Callable[..., Replaying]) -> None:
    """Dates, clocks and hashes in a prompt do not matter where the recipe says so."""
    record = recording(path, [turn(say="Hello.")])
    first, _ = session(record, ask(Api.CHAT, "Today is 2026-11-29, HEAD is 1a2b3c4."), volatile=COMMON)
    record.close()
    played = play(path)
    second, _ = session(played, ask(Api.CHAT, "Today is 2027-01-02, HEAD is 9f8e7d6."), volatile=COMMON)

    assert second == first


def test_an_unknown_request_is_told(path: Path, play: Callable[..., Replaying]) -> None:
    """The session ends there: which request is nearest, where it differs first; the agent sees a 404."""
    record = recording(path, [turn(say="Hello.")])
    session(record, ask(Api.CHAT, "the first task"), ask(Api.CHAT, "the fee is 175 cents"))
    record.close()
    failures: list[Any] = []
    played = play(path)
    with Gateway(played.upstream(SCOPE, NOTHING_VOLATILE), on_failure=failures.append) as gateway:
        response = collect(gateway.handle(ask(Api.CHAT, "the fee is 180 cents")))
        then = collect(gateway.handle(ask(Api.CHAT, "the first task")))

    assert (response.status, then.status) == (404, 404)
    assert [type(failure) for failure in failures] == [UnknownRequest]
    text = str(failures[0])
    assert str(path) in text
    assert SCOPE in text
    assert "nearest is number 2" in text
    assert "$.messages[1].content was 'the fee is 175 cents' and is 'the fee is 180 cents'" in text


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"seed": 5}, "$.seed is only in the request"),
        ({"messages": []}, "$.messages has 2 parts in the recording and 0 in the request"),
        ({"model": "m-2"}, "$.model was 'm-1' and is 'm-2'"),
        ({"stream": True}, "$.form was 'json' and is 'sse'"),
    ],
)
def test_first_differences(change: dict[str, Any], told: str, path: Path, play: Callable[..., Replaying]) -> None:
    """A field more, a list shorter, another value, another form."""
    record = recording(path, [turn(say="Hello.")])
    session(record, ask(Api.CHAT))
    record.close()
    body = {**body_of(Api.CHAT, "Do it.", "You are an agent.", ["bash"], False, "m-1"), **change}
    _, gateway = session(play(path), post(path_of(Api.CHAT), body))

    assert told in str(gateway.failure)


def test_one_time_too_many_and_unknown_sessions(path: Path, play: Callable[..., Replaying]) -> None:
    """A request asked more often than recorded, and a session that was not recorded, are unknown."""
    record = recording(path, [turn(say="Hello.")])
    session(record, ask(Api.CHAT))
    record.close()
    _, often = session(play(path), ask(Api.CHAT), ask(Api.CHAT))
    _, other = session(play(path), ask(Api.CHAT), scope="tier1.None.agent.1/1-session")

    assert "once more than the 1 times recorded" in str(often.failure)
    assert f"knows no session tier1.None.agent.1/1-session; it has: {SCOPE}" in str(other.failure)


def test_errors_and_cuts_play_back(path: Path, play: Callable[..., Replaying]) -> None:
    """A provider's error and a stream that broke off happen again as they did, without the waits between."""
    turns = [Turn(fault=Fault(status=529, retry_after=30)), Turn("long text", fault=Fault(cut_after=2)), turn(say="ok")]
    requests = [ask(Api.MESSAGES, stream=True)] * 3
    record = recording(path, turns)
    first, one = session(record, *requests)
    record.close()
    second, other = session(play(path), *requests)

    assert [(response.status, response.cut) for response in first] == [(529, False), (200, True), (200, False)]
    assert second == first
    assert one.report().totals == other.report().totals


def test_a_key_is_in_no_cassette(path: Path, play: Callable[..., Replaying]) -> None:
    """Neither from a request nor from an answer; and it plays back all the same."""
    redactor = Redactor([Secret(KEY)])
    record = recording(path, [turn(say=f"your key is {KEY}!")], redactor)
    session(record, ask(Api.CHAT, f"my key is {KEY}"))
    record.close()
    cassette = Cassette(path)
    records = list(cassette.records(SCOPE))
    cassette.close()
    held = json.dumps([repr(one) + json.dumps(one.asked.document) + str(one.replied.chunks) for one in records])

    assert KEY not in held
    assert "redacted" in held
    played = play(path, redactor)
    responses, _ = session(played, ask(Api.CHAT, f"my key is {KEY}"))
    assert responses[0].status == 200


def test_a_killed_recording_keeps_all_it_had(path: Path, play: Callable[..., Replaying]) -> None:
    """A torn end is the end; more can be recorded after it, and a session begun again replaces what it had."""
    record = recording(path, [turn(say="one"), turn(say="two"), turn(say="three")])
    for text, scope in (("a", SCOPE), ("b", "other/1-session"), ("c", "third/1-session")):
        session(record, ask(Api.CHAT, text), scope=scope)
    path.write_bytes(path.read_bytes()[:-9])
    torn = play(path)
    assert session(torn, ask(Api.CHAT, "a"))[0][0].status == 200
    assert session(torn, ask(Api.CHAT, "c"), scope="third/1-session")[0][0].status == 404

    more = recording(path, [turn(say="anew")], append=True)
    session(more, ask(Api.CHAT, "a"))
    more.close()
    played = play(path)
    assert b"anew" in session(played, ask(Api.CHAT, "a"))[0][0].body
    assert session(played, ask(Api.CHAT, "b"), scope="other/1-session")[0][0].status == 200
    record.close()


def test_no_cassette_is_overwritten(path: Path) -> None:
    """Recording over a file is refused."""
    path.write_bytes(b"precious")

    with pytest.raises(InputError, match="exists already"):
        CassetteWriter(path, Redactor())
    assert path.read_bytes() == b"precious"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}\n",
        b"[]\n",
        b'{"cassette": 2}\n',
        b'{"cassette": 1}\nnonsense\n',
        b'{"cassette": 1}\n[]\n',
        b'{"cassette": 1}\n{"scope": "x"}\n',
        b'{"cassette": 1}\n{"scope": "x", "request": {}, "response": {}}\n',
        b'{"cassette": 1}\n' + b"[" * 100_000 + b"\n",
    ],
)
def test_what_is_no_cassette_is_refused(data: bytes, path: Path) -> None:
    """With its name and its line; an empty file holds no session."""
    path.write_bytes(data)
    if not data:
        cassette = Cassette(path)
        assert cassette.scopes == ()
        cassette.close()
        return
    with pytest.raises(InputError, match=path.name.replace(".", r"\.")):
        Replaying(path)


def test_a_missing_cassette_is_told(tmp_path: Path) -> None:
    """As bad input."""
    with pytest.raises(InputError, match="--replay"):
        Replaying(tmp_path / "none.jsonl")
