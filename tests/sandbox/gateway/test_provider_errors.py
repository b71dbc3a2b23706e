"""Provider errors: the agent's to see or ours to retry, always on record, never a score, never counted as an answer."""

from __future__ import annotations

import json
import random
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from gateway_kit import APIS, Canned, ask, canned, chat_answer, chat_chunk, collect, provider, real, send, sse, streamed

from takeover.sandbox.cutoff import parse
from takeover.sandbox.gateway.account import Tokens
from takeover.sandbox.gateway.budget import Budget, Limits
from takeover.sandbox.gateway.exchange import Gone
from takeover.sandbox.gateway.gateway import Files, Gateway
from takeover.sandbox.gateway.routes import Api
from takeover.sandbox.gateway.script import Fault, Shell, Turn, Usage, turn
from takeover.sandbox.gateway.scripted import Scripted
from takeover.sandbox.gateway.settings import Retries, Settings
from takeover.sandbox.gateway.upstream import ModelUnavailable

QUICK = Retries(attempts=4, wait=0.001, longest_wait=0.002)
SAID = "I look around here and there, and " * 5
ANSWER = turn(Shell("ls"), say=SAID, usage=Usage(100, 10))
STREAM = sse(chat_chunk("Hel"), chat_chunk("lo"), chat_chunk(None, "stop"))
USAGE = sse({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5}}, "[DONE]")


def settings(policy: str, **more: Any) -> Settings:
    return Settings(errors=policy, retries=more.pop("retries", QUICK), **more)  # type: ignore[arg-type]


def fault(**kinds: Any) -> Turn:
    return Turn(SAID, (Shell("ls"),), usage=Usage(100, 10), fault=Fault(**kinds))


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("status", [429, 500, 503, 529])
def test_passed_errors_are_seen_as_they_are(api: Api, status: int) -> None:
    """With `pass` the agent sees status, body and retry-after, and tries again itself; nothing of it counts."""
    with Gateway(Scripted([fault(status=status, retry_after=7), ANSWER]), settings("pass")) as gateway:
        refused, answered = send(gateway, ask(api)), send(gateway, ask(api))
        totals = gateway.report().totals

    assert (refused.status, refused.headers["retry-after"], answered.status) == (status, "7", 200)
    assert "scripted fault" in json.dumps(refused.json())
    assert (totals.answers, totals.failures, totals.turns) == (1, 1, 1)
    assert totals.billed == totals.counted == Tokens(100, 10)
    assert not totals.ended_on_failure


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("policy", ["retry", "hold"])
def test_retried_errors_are_not_seen(api: Api, policy: str) -> None:
    """Two 529s and a success: one answer for the agent, its tokens, and two failed attempts kept apart."""
    turns = [fault(status=529), fault(error_after=0), ANSWER]
    with Gateway(Scripted(turns), settings(policy)) as gateway:
        response = send(gateway, ask(api, stream=True))
        report = gateway.report()

    assert (response.status, response.cut) == (200, False)
    assert (report.totals.answers, report.totals.failures, report.tokens) == (1, 2, 110)
    assert sum(one.count for one in report.findings if one.kind == "retried") == 2


@pytest.mark.parametrize("api", APIS)
def test_a_held_answer_is_retried_even_in_its_middle(api: Api) -> None:
    """With `hold` no half answer reaches the agent, so no tool call runs twice."""
    with Gateway(Scripted([fault(cut_after=3), fault(error_after=3), ANSWER]), settings("hold")) as gateway:
        response = send(gateway, ask(api, stream=True))
        totals = gateway.report().totals

    assert (response.status, response.cut, totals.failures, totals.answers) == (200, False, 2, 1)


@pytest.mark.parametrize("api", APIS)
def test_a_cut_in_the_middle_is_the_agents_to_see(api: Api) -> None:
    """What has gone out cannot be taken back; the tokens of the cut attempt are billed, and not the kept one's."""
    with Gateway(Scripted([fault(cut_after=4), ANSWER]), settings("retry")) as gateway:
        cut, whole = send(gateway, ask(api, stream=True)), send(gateway, ask(api, stream=True))
        totals = gateway.report().totals

    assert (cut.status, cut.cut, whole.cut) == (200, True, False)
    assert cut.body
    assert totals.counted == Tokens(100, 10)
    assert (totals.failures, totals.billed_unknown) == (1, 1)


def test_partial_usage_of_a_cut_stream_is_billed_and_not_counted() -> None:
    """Anthropic tells the input at the beginning: that much is known."""
    with Gateway(Scripted([fault(cut_after=4), ANSWER])) as gateway:
        for _ in range(2):
            send(gateway, ask(Api.MESSAGES, stream=True))
        totals = gateway.report().totals

    assert totals.counted == Tokens(100, 10)
    assert totals.billed == Tokens(200, 11)


def test_a_provider_that_is_gone_is_no_score() -> None:
    """When retries are used up the session has a failure of the machinery, told once, and the agent gets a 404."""
    failures: list[Any] = []
    with Gateway(Scripted([fault(status=500)] * 9), settings("retry"), on_failure=failures.append) as gateway:
        responses = [send(gateway, ask(Api.CHAT, text)) for text in ("a", "b")]
        totals = gateway.report().totals

    assert [response.status for response in responses] == [404, 404]
    assert [str(failure) for failure in failures] == ["no answer after 4 attempts; the last one: status 500"]
    assert isinstance(failures[0], ModelUnavailable)
    assert (totals.failures, totals.ended_on_failure) == (4, True)


def test_an_agent_that_never_gives_up_is_stopped() -> None:
    """Some agents retry for ever: after so many failures in a row the provider counts as gone."""
    with Gateway(Scripted([fault(status=500)] * 99), settings("pass", retries=Retries(give_up=5))) as gateway:
        statuses = [send(gateway, ask(Api.CHAT, str(n))).status for n in range(8)]

    assert statuses == [500] * 5 + [404] * 3
    assert "5 attempts in a row" in str(gateway.failure)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (401, {}),
        (403, {}),
        (429, {"error": {"code": "insufficient_quota"}}),
        (400, {"error": {"message": "Your credit balance is too low"}}),
    ],
)
def test_a_refused_key_or_an_empty_account_ends_the_session(status: int, body: Any) -> None:
    """Nobody can retry that away, and the agent does not see what the provider says of the key."""
    with provider(canned(body, status)) as server, real(server.url) as upstream:
        with Gateway(upstream, settings("retry")) as gateway:
            response = send(gateway, ask(Api.CHAT))
        assert len(server.seen) == 1

    assert response.status == 404
    assert isinstance(gateway.failure, ModelUnavailable)


def test_retry_after_is_waited_for_within_bounds() -> None:
    """The provider's word counts; the waits themselves are bounded and jittered."""
    answers = [canned({}, 429, headers=[("retry-after", "0.2")]), canned(chat_answer())]
    with provider(*answers) as server, real(server.url) as upstream, Gateway(upstream, settings("retry")) as gateway:
        gateway._house.jitter = random.Random(1)
        before = time.monotonic()
        assert send(gateway, ask(Api.CHAT)).status == 200
        assert 0.2 <= time.monotonic() - before < 5


def test_a_server_that_does_not_know_how_to_tell_usage_is_not_asked_again() -> None:
    """Refused with a 400, the question is left out; the session is unmetered, not broken."""
    unknown = canned({"error": {"message": "unknown field stream_options"}}, 400)
    answers = [unknown, streamed(*STREAM), streamed(*STREAM)]
    with provider(*answers) as server, real(server.url) as upstream, Gateway(upstream) as gateway:
        responses = [send(gateway, ask(Api.CHAT, text, stream=True)) for text in ("a", "b")]
        asked = ["stream_options" in seen.json() for seen in server.seen]
        report = gateway.report()

    assert [response.status for response in responses] == [200, 200]
    assert asked == [True, False, False]
    assert (report.tokens, report.totals.unmetered) == (None, 2)


def test_another_400_is_just_passed() -> None:
    """If it was not about usage, the agent sees it, and usage is asked for the next time."""
    wrong = canned({"error": {"message": "bad tools"}}, 400)
    with (
        provider(wrong, wrong, streamed(*STREAM, *USAGE)) as server,
        real(server.url) as upstream,
        Gateway(upstream) as gateway,
    ):
        responses = [send(gateway, ask(Api.CHAT, text, stream=True)) for text in ("a", "b")]
        asked = ["stream_options" in seen.json() for seen in server.seen]
        assert gateway.report().tokens == 15

    assert [response.status for response in responses] == [400, 200]
    assert asked == [True, False, True]


def test_a_stream_without_an_event_is_no_answer() -> None:
    """A server that is interrupted ends its stream with status 200 and nothing in it."""
    answers = [streamed(), streamed(*STREAM, *USAGE)]
    with provider(*answers) as server, real(server.url) as upstream, Gateway(upstream, settings("retry")) as gateway:
        response = send(gateway, ask(Api.CHAT, stream=True))
        totals = gateway.report().totals

    assert b"Hel" in response.body
    assert (totals.failures, totals.answers) == (1, 1)


def test_a_page_is_no_answer() -> None:
    """What comes with status 200 and is none of this API's answers is not taken for one."""
    page = Canned([b"<html>Sign in</html>"], kind="text/html")
    answers = [page, canned(chat_answer())]
    with provider(*answers) as server, real(server.url) as upstream, Gateway(upstream, settings("retry")) as gateway:
        assert send(gateway, ask(Api.CHAT)).json()["id"] == "c1"
        assert gateway.report().totals.failures == 1
    with provider(page) as server, real(server.url) as upstream, Gateway(upstream) as gateway:
        assert send(gateway, ask(Api.CHAT)).body == b"<html>Sign in</html>"
        assert gateway.report().totals.answers == 0


def test_an_unfinished_stream_that_ends_politely() -> None:
    """It is passed as it is, and is no answer."""
    with provider(streamed(*STREAM[:2])) as server, real(server.url) as upstream, Gateway(upstream) as gateway:
        response = send(gateway, ask(Api.CHAT, stream=True))
        totals = gateway.report().totals

    assert (response.body, response.cut) == (b"".join(STREAM[:2]), False)
    assert (totals.failures, totals.answers) == (1, 0)


def test_a_stream_passes_as_it_arrives() -> None:
    """The first words are with the agent before the last are written."""
    hold = threading.Event()
    with (
        provider(streamed(*STREAM[:2], hold=hold)) as server,
        real(server.url) as upstream,
        Gateway(upstream, Settings(drain=0.1)) as gateway,
    ):
        parts = gateway.handle(ask(Api.CHAT, stream=True))
        first = next(parts)
        hold.set()
        list(parts)

    assert b"Hel" in first.body


def test_when_the_agent_hangs_up_the_rest_is_read_for_its_usage() -> None:
    """A session that is cut off while the last words arrive is still metered."""
    chunks = [*STREAM, *USAGE]
    with provider(streamed(*chunks, pause=0.05)) as server, real(server.url) as upstream, Gateway(upstream) as gateway:
        parts = gateway.handle(ask(Api.CHAT, stream=True))
        next(parts)
        parts.close()  # type: ignore[attr-defined]
        report = gateway.report()

    assert report.tokens == 15
    assert report.totals.answers == 1


def test_when_the_agent_hangs_up_no_one_waits_for_ever() -> None:
    """After the drain the connection is closed; what was used is not known."""
    hold, gone = threading.Event(), Gone()
    with provider(streamed(STREAM[0], hold=hold)) as server, real(server.url) as upstream:
        with Gateway(upstream, Settings(drain=0.2)) as gateway:
            parts = gateway.handle(ask(Api.CHAT, stream=True), gone)
            next(parts)
            before = time.monotonic()
            threading.Timer(0.05, gone.set).start()
            list(parts)
            assert time.monotonic() - before < 5
            totals = gateway.report().totals
        hold.set()

    assert (totals.answers, totals.failures, totals.billed_unknown) == (0, 1, 1)
    assert not totals.ended_on_failure


def test_who_hangs_up_on_an_answer_and_goes_on_has_had_it() -> None:
    """Its words were read, so it is a turn, and tokens that nobody knows; where the session ends there it is neither."""
    hold = threading.Event()
    answers = [streamed(STREAM[0], STREAM[1], hold=hold), streamed(*STREAM, *USAGE)]
    with provider(*answers) as server, real(server.url) as upstream:
        with Gateway(upstream, Settings(drain=0.1), rule=parse("turns:2")) as gateway:
            parts = gateway.handle(ask(Api.CHAT, stream=True))
            next(parts)
            parts.close()  # type: ignore[attr-defined]
            before = gateway.report()
            send(gateway, ask(Api.CHAT, stream=True))
            after = gateway.report()
            last = send(gateway, ask(Api.CHAT, stream=True))
        hold.set()

    assert (before.totals.turns, before.tokens) == (0, 0)
    assert (after.totals.turns, after.tokens, after.totals.unmetered) == (2, None, 1)
    assert last.status == 404


def test_closing_breaks_off_what_is_under_way() -> None:
    """A model that thinks on does not hold the session's end."""
    hold = threading.Event()
    with provider(streamed(STREAM[0], hold=hold)) as server, real(server.url) as upstream:
        gateway = Gateway(upstream, Settings(drain=0.1))
        thread = threading.Thread(target=lambda: collect(gateway.handle(ask(Api.CHAT, stream=True))))
        thread.start()
        while not server.seen:
            time.sleep(0.01)
        before = time.monotonic()
        report = gateway.close()
        assert time.monotonic() - before < 6
        hold.set()
        thread.join(5)

    assert report.totals.billed_unknown == 1


def test_seconds_are_a_budget_too() -> None:
    """A stream that drips is broken off when the time is used up."""
    drip = streamed(*[STREAM[0]] * 200, pause=0.02)
    budget = Budget("trial", Limits(seconds=0.3))
    with provider(drip) as server, real(server.url) as upstream, Gateway(upstream, budget=budget) as gateway:
        before = time.monotonic()
        response = send(gateway, ask(Api.CHAT, stream=True))
        after = send(gateway, ask(Api.CHAT, "b"))
        seconds = time.monotonic() - before

    assert response.cut
    assert after.status == 404
    assert 0.3 <= seconds < 3


def test_a_server_that_cannot_be_reached(unused_port: int) -> None:
    """The agent sees a 502 with `pass`; with `retry` the session fails as the machinery's."""
    url = f"http://127.0.0.1:{unused_port}"
    with real(url) as upstream, Gateway(upstream, settings("pass")) as gateway:
        seen = send(gateway, ask(Api.MESSAGES))
        totals = gateway.report().totals
    with real(url) as upstream, Gateway(upstream, settings("retry")) as other:
        assert send(other, ask(Api.MESSAGES)).status == 404

    assert (seen.status, seen.json()["error"]["type"]) == (502, "api_error")
    assert (totals.failures, totals.billed_unknown) == (1, 0)
    assert "ConnectError" in str(other.failure)


@pytest.fixture
def unused_port() -> int:
    with provider(Canned()) as server:
        return int(server.url.rpartition(":")[2])


def test_attempts_are_on_record(tmp_path: Path) -> None:
    """Every attempt has its line: which request, what came, why it was none."""
    turns = [fault(status=529), fault(cut_after=0), ANSWER]
    with Gateway(Scripted(turns), settings("retry"), files=Files(calls=tmp_path / "c.jsonl")) as gateway:
        send(gateway, ask(Api.CHAT, stream=True))
        gateway.close()
    lines = [json.loads(line) for line in (tmp_path / "c.jsonl").read_text().splitlines()]

    assert [(line["request"], line["status"], line["outcome"]) for line in lines] == [
        (1, 529, "failed"),
        (1, 200, "failed"),
        (1, 200, "answered"),
    ]
    assert [line.get("trouble") for line in lines] == ["status 529", "scripted fault", None]
