"""One session's gateway: pins, budgets, turns, tokens, cutoffs; over a scripted model."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from gateway_kit import APIS, ask, body_of, collect, path_of, post, send

from takeover.sandbox import cutoff
from takeover.sandbox.gateway.account import Tokens
from takeover.sandbox.gateway.budget import Budget, Limits
from takeover.sandbox.gateway.exchange import HttpRequest
from takeover.sandbox.gateway.gateway import Files, Gateway
from takeover.sandbox.gateway.prices import dollars
from takeover.sandbox.gateway.routes import Api
from takeover.sandbox.gateway.script import Shell, Turn, Usage, turn
from takeover.sandbox.gateway.scripted import Scripted
from takeover.sandbox.gateway.settings import Pinned, Settings
from takeover.sandbox.gateway.trigger import Fired
from takeover.sandbox.gateway.upstream import Answer, UpstreamCall

MANY = [turn(Shell("ls"), usage=Usage(100, 10)) for _ in range(20)]


class Watched(Scripted):
    """A scripted model that remembers what it was sent."""

    def __init__(self, turns: Any = MANY) -> None:
        super().__init__(turns)
        self.calls: list[UpstreamCall] = []

    def send(self, call: UpstreamCall) -> Answer:
        self.calls.append(call)
        return super().send(call)

    @property
    def bodies(self) -> list[Any]:
        return [json.loads(call.body) for call in self.calls]


def found(gateway: Gateway, kind: str) -> list[tuple[str, int]]:
    return [(one.detail, one.count) for one in gateway.report().findings if one.kind == kind]


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_passes_and_is_counted(api: Api, stream: bool) -> None:
    """One turn, its tokens, nothing else to say."""
    with Gateway(Watched()) as gateway:
        response = send(gateway, ask(api, stream=stream))
        report = gateway.report()

    assert response.status == 200
    assert not response.cut
    assert (report.totals.turns, report.totals.answers, report.tokens) == (1, 1, 110)
    assert report.totals.billed == report.totals.counted == Tokens(100, 10, 0)
    assert report.findings == ()


def test_side_requests_are_tokens_but_no_turns() -> None:
    """A title costs what it costs, and the agent has not moved."""
    with Gateway(Watched()) as gateway:
        send(gateway, ask(Api.CHAT, "A title, please.", tools=()))
        send(gateway, ask(Api.CHAT))
        totals = gateway.report().totals

    assert (totals.turns, totals.answers) == (1, 2)
    assert totals.counted.total > 110


def test_an_agent_without_tools_has_turns_where_its_recipe_says_so() -> None:
    """aider offers none."""
    with Gateway(Watched(), Settings(turns="all")) as gateway:
        send(gateway, ask(Api.CHAT, tools=()))
        assert gateway.report().totals.turns == 1


@pytest.mark.parametrize("api", APIS)
def test_another_model_gets_the_pinned_one_and_is_recorded(api: Api) -> None:
    """No silent fallback: what was asked for is on record."""
    watched = Watched()
    with Gateway(watched, Settings(pinned=Pinned(model="m-2"))) as gateway:
        response = send(gateway, ask(api, model="m-1"))
        assert found(gateway, "model") == [("asked for m-1, got m-2", 1)]

    assert response.status == 200
    assert (watched.calls[0].route.model or watched.bodies[0]["model"]) == "m-2"


@pytest.mark.parametrize("api", APIS)
def test_a_strict_run_refuses_another_model(api: Api) -> None:
    """In the provider's own shape, before anything is sent."""
    watched = Watched()
    with Gateway(watched, Settings(pinned=Pinned(model="m-2", policy="strict"))) as gateway:
        refused = send(gateway, ask(api, model="m-1"))
        right = send(gateway, ask(api, model="m-2"))

    assert (refused.status, right.status, len(watched.calls)) == (404, 200, 1)
    assert "m-1" in json.dumps(refused.json()["error"])


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("api", APIS)
def test_an_answer_from_another_model(api: Api, stream: bool) -> None:
    """It is recorded; in a strict run none of it reaches the agent, and it is billed but does not count."""
    for policy in ("record", "strict"):
        pinned = Pinned(model="m-1", policy=policy)  # type: ignore[arg-type]
        with Gateway(Scripted([turn(Shell("ls"), model="m-cheap")]), Settings(pinned=pinned)) as gateway:
            response = send(gateway, ask(api, stream=stream))
            assert found(gateway, "model_answered") == [("asked for m-1, m-cheap answered", 1)]
            totals = gateway.report().totals
        strict = policy == "strict"
        assert response.status == (404 if strict else 200)
        assert (totals.answers, totals.failures, totals.billed_unknown) == ((0, 1, 1) if strict else (1, 0, 0))
        assert (b"ls" in response.body) != strict


def test_a_dated_release_is_the_model() -> None:
    """A provider names the release that an alias stands for."""
    pinned = Pinned(model="gpt-4o", policy="strict")
    with Gateway(Scripted([turn(Shell("ls"), model="gpt-4o-2024-08-06")]), Settings(pinned=pinned)) as gateway:
        assert send(gateway, ask(Api.CHAT, model="gpt-4o")).status == 200


@pytest.mark.parametrize("api", APIS)
def test_out_of_budget_is_not_found(api: Api) -> None:
    """The one status at which every agent stops, in the shape of its provider."""
    with Gateway(Watched(), budget=Budget("trial", Limits(calls=1))) as gateway:
        responses = [send(gateway, ask(api, text)) for text in ("a", "b", "c")]
        assert found(gateway, "budget") == [("the trial's budget of calls is used up", 2)]
        assert gateway.failure is None

    assert [response.status for response in responses] == [200, 404, 404]
    assert "budget" in json.dumps(responses[1].json()["error"])
    if api in (Api.CHAT, Api.RESPONSES):
        # litellm tries again for minutes where this code is missing.
        assert responses[1].json()["error"]["code"] == "model_not_found"


def test_a_token_budget_is_exact() -> None:
    """The cap of each call is what is left; a provider that keeps to it never overruns."""
    watched = Watched([turn(Shell("ls"), usage=Usage(100, 30)) for _ in range(9)])
    budget = Budget("trial", Limits(tokens=100))
    with Gateway(watched, budget=budget) as gateway:
        statuses = [send(gateway, ask(Api.MESSAGES, str(n))).status for n in range(5)]

    assert [body["max_tokens"] for body in watched.bodies] == [100, 70, 40]
    assert statuses == [200, 200, 200, 404, 404]
    assert budget.spent.tokens == 90


def test_several_answers_at_once_share_the_budget() -> None:
    """`n` multiplies what a call generates, so the cap is divided."""
    watched = Watched()
    with Gateway(watched, budget=Budget("trial", Limits(tokens=1000))) as gateway:
        send(gateway, ask(Api.CHAT, n=4))
        none = send(gateway, ask(Api.CHAT, n=128))

    assert watched.bodies[0]["max_completion_tokens"] == 250
    assert none.status == 404


def test_a_budget_in_dollars() -> None:
    """The price table says what is left; a model without a price is refused rather than free."""
    watched = Watched([turn(Shell("ls"), usage=Usage(1000, 1000)) for _ in range(9)])
    budget = Budget("run", Limits(cost=dollars("0.05")))
    with Gateway(watched, budget=budget) as gateway:
        statuses = [send(gateway, ask(Api.CHAT, str(n), model="gpt-4o", max_tokens=1000)).status for n in range(6)]
        unpriced = send(gateway, ask(Api.CHAT, model="mystery"))
        report = gateway.report()

    assert statuses == [200, 200, 200, 200, 404, 404]
    assert [body["max_tokens"] < 1000 for body in watched.bodies] == [False, False, False, True]
    assert unpriced.status == 404
    assert report.totals.cost == budget.spent.cost == 4 * (1000 * 2500 + 1000 * 10_000) == dollars("0.05")


def test_unknown_usage_keeps_its_reservation_and_is_unmetered() -> None:
    """No usage is not zero: the tokens of the session are unknown, and the budget took the most."""
    budget = Budget("trial", Limits(tokens=1000))
    with Gateway(Scripted([Turn(actions=(Shell("ls"),), tells_usage=False)]), budget=budget) as gateway:
        send(gateway, ask(Api.CHAT, max_tokens=300))
        report = gateway.report()

    assert report.tokens is None
    assert (report.totals.unmetered, budget.spent.tokens, budget.spent.kept) == (1, 300, 300)
    assert report.totals.cost is None


def test_a_chat_stream_tells_its_usage_unasked() -> None:
    """We ask for it, and the agent that did not does not see it."""
    watched = Watched()
    with Gateway(watched) as gateway:
        quiet = send(gateway, ask(Api.CHAT, "a", stream=True))
        told = send(gateway, ask(Api.CHAT, "b", stream=True, stream_options={"include_usage": True}))
        assert gateway.report().tokens == 220

    assert [body["stream_options"] for body in watched.bodies] == [{"include_usage": True}] * 2
    assert b"usage" not in quiet.body
    assert b"usage" in told.body
    assert quiet.body.endswith(b"data: [DONE]\n\n")


def test_turns_cut_before_the_next_turn() -> None:
    """After N whole turns the next request ends the session: no further call, and side requests do not count."""
    fired: list[Fired] = []
    watched = Watched()
    with Gateway(watched, rule=cutoff.parse("turns:2"), on_cutoff=fired.append) as gateway:
        for text in ("a", "b"):
            send(gateway, ask(Api.MESSAGES, text))
            send(gateway, ask(Api.MESSAGES, f"title of {text}", tools=()))
        assert fired == []
        last = [send(gateway, ask(Api.MESSAGES, text)) for text in ("c", "d")]

    assert [response.status for response in last] == [404, 404]
    assert len(watched.calls) == 4
    assert [(one.rule, one.turns, one.exact) for one in fired] == [("turns:2", 2, True)]


@pytest.mark.parametrize("rule", ["turns:2", "tokens:200"])
def test_turns_asked_at_once_are_no_more(rule: str) -> None:
    """An agent that asks ten times at once gets the turns that the rule allows, and is cut off all the same."""
    held = threading.Event()

    class Holding(Watched):
        def send(self, call: UpstreamCall) -> Answer:
            held.wait(10)
            return super().send(call)

    fired: list[Fired] = []
    watched = Holding()
    with Gateway(watched, rule=cutoff.parse(rule), on_cutoff=fired.append) as gateway:
        with ThreadPoolExecutor(10) as pool:
            asked = [pool.submit(send, gateway, ask(Api.CHAT, str(number))) for number in range(10)]
            held.set()
            statuses = sorted(one.result().status or 0 for one in asked)
        turns = gateway.report().totals.turns

    assert statuses == [200] * 2 + [404] * 8
    assert (len(watched.calls), turns, len(fired)) == (2, 2, 1)
    assert (fired[0].turns, fired[0].exact) == (2, True)


def test_tokens_cut_before_the_next_turn() -> None:
    """Side requests are tokens; where usage is unknown the cut says that it is not exact."""
    fired: list[Fired] = []
    with Gateway(Watched(), rule=cutoff.parse("tokens:200"), on_cutoff=fired.append) as gateway:
        statuses = [send(gateway, ask(Api.CHAT, text)).status for text in ("a", "b", "c")]
    unknown = [Turn(actions=(Shell("ls"),), tells_usage=False), *MANY]
    with Gateway(Scripted(unknown), rule=cutoff.parse("tokens:100"), on_cutoff=fired.append) as gateway:
        for text in ("a", "b", "c"):
            send(gateway, ask(Api.CHAT, text))

    assert statuses == [200, 200, 404]
    assert [(one.tokens, one.exact) for one in fired] == [(220, True), (110, False)]


def test_a_sleeping_rule_counts_from_when_it_is_armed() -> None:
    """`armed: first-commit`: what came before does not count."""
    with Gateway(Watched(), rule=cutoff.parse("turns:1", armed="first-commit")) as gateway:
        before = [send(gateway, ask(Api.CHAT, text)).status for text in ("a", "b", "c")]
        gateway.arm()
        after = [send(gateway, ask(Api.CHAT, text)).status for text in ("d", "e")]

    assert (before, after) == ([200] * 3, [200, 404])


def test_other_rules_are_not_the_gateways() -> None:
    """The guest keeps them."""
    with Gateway(Watched(), rule=cutoff.parse("first-edit")) as gateway:
        assert [send(gateway, ask(Api.CHAT, text)).status for text in "abc"] == [200] * 3


@pytest.mark.parametrize(
    ("api", "body"),
    [
        (Api.RESPONSES, {"previous_response_id": "resp_from_session_1"}),
        (Api.RESPONSES, {"conversation": {"id": "conv_1"}}),
        (Api.RESPONSES, {"prompt": {"id": "pmpt_1"}}),
        (Api.RESPONSES, {"background": True}),
        (Api.MESSAGES, {"container": "container_1"}),
        (Api.GEMINI, {"cachedContent": "cachedContents/1"}),
        (Api.GEMINI, {"cached_content": "cachedContents/1"}),
    ],
)
def test_nothing_that_the_provider_keeps_comes_in(api: Api, body: dict[str, Any]) -> None:
    """A thread kept by the provider would carry one session's memory into the next."""
    watched = Watched()
    with Gateway(watched) as gateway:
        response = send(gateway, ask(api, **body))
        assert found(gateway, "foreign_state")

    assert (response.status, watched.calls) == (404, [])


def test_a_session_may_go_on_with_its_own_answers() -> None:
    """A response id that was given out in this session is known."""
    with Gateway(Watched()) as gateway:
        own = send(gateway, ask(Api.RESPONSES)).json()["id"]
        assert send(gateway, ask(Api.RESPONSES, "b", previous_response_id=own)).status == 200


def test_tools_of_the_provider_are_noted_or_taken_out() -> None:
    """They reach a network that the sandbox has not."""
    watched = Watched()
    body = body_of(Api.RESPONSES, "x", "s", ["bash"], False, "m-1")
    body["tools"].append({"type": "web_search"})
    with Gateway(watched) as gateway:
        send(gateway, post("/v1/responses", body))
        assert found(gateway, "server_tool") == [("web_search", 1)]
    with Gateway(watched, Settings(pinned=Pinned(server_tools="strip"))) as gateway:
        send(gateway, post("/v1/responses", body))

    assert [len(sent["tools"]) for sent in watched.bodies] == [2, 1]


def test_counting_tokens_is_no_call() -> None:
    """It is answered, and uses nothing up."""
    budget = Budget("trial", Limits(calls=0))
    with Gateway(Watched(), budget=budget) as gateway:
        counted = send(gateway, post("/v1/messages/count_tokens", body_of(Api.MESSAGES, "x", "s", [], False, "m-1")))
        gemini = send(gateway, post("/v1beta/models/g:countTokens", {"contents": []}))
        totals = gateway.report().totals

    assert counted.json()["input_tokens"] > 0
    assert "totalTokens" in gemini.json()
    assert (totals.answers, totals.turns, budget.spent.calls) == (0, 0, 0)


def test_models_are_those_of_the_run() -> None:
    """A pinned model is the only one there is, and asking costs nothing."""
    watched = Watched()
    with Gateway(watched, Settings(pinned=Pinned(model="m-2"))) as gateway:
        lists = [
            send(gateway, HttpRequest("GET", "/v1/models")).json()["data"],
            send(gateway, HttpRequest("GET", "/v1/models", (("x-api-key", "x"),))).json()["data"],
            send(gateway, HttpRequest("GET", "/v1beta/models")).json()["models"],
        ]
        one = send(gateway, HttpRequest("GET", "/v1/models/m-2"))
        other = send(gateway, HttpRequest("GET", "/v1/models/m-1"))

    assert [[entry.get("id") or entry["name"] for entry in entries] for entries in lists] == [
        ["m-2"],
        ["m-2"],
        ["models/m-2"],
    ]
    assert (one.status, other.status, watched.calls) == (200, 404, [])


def test_bad_bodies_are_refused_in_the_providers_shape() -> None:
    """With a 400, and nothing is sent or counted."""
    watched = Watched()
    with Gateway(watched) as gateway:
        responses = [
            send(gateway, post(path_of(api), body)) for api in APIS for body in (b"{", b"[" * 99_999, b'{"a": 1e999}')
        ]
        assert gateway.report().totals.failures == 0

    assert {response.status for response in responses} == {400}
    assert watched.calls == []


def test_the_report_is_plain_data_and_has_no_times_but_seconds(tmp_path: Path) -> None:
    """It goes into the session's folder."""
    with Gateway(Watched(), files=Files(calls=tmp_path / "calls.jsonl")) as gateway:
        send(gateway, ask(Api.CHAT))
        report = gateway.close()

    made = json.loads(json.dumps(report.to_json()))
    assert made["tokens"] == 110
    assert made["totals"]["counted"] == {"prompt": 100, "completion": 10, "cached": 0}
    line = json.loads((tmp_path / "calls.jsonl").read_text())
    assert (line["outcome"], line["turn"], line["tokens"]["prompt_tokens"]) == ("answered", True, 100)


def test_after_the_end_everything_is_not_found() -> None:
    """A closed gateway answers nothing any more."""
    gateway = Gateway(Watched())
    gateway.close()

    assert collect(gateway.handle(ask(Api.CHAT))).status == 404
