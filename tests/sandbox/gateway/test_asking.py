"""What is pinned is what goes out; everything else passes as it is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from gateway_kit import APIS, ask, body_of, path_of, post

from takeover.sandbox.gateway.asking import (
    Asking,
    choices,
    input_bound,
    lacks_usage,
    lower_caps,
    lowest_cap,
    matching,
    outgoing,
    understand,
)
from takeover.sandbox.gateway.exchange import HttpRequest
from takeover.sandbox.gateway.jsontext import NotJson
from takeover.sandbox.gateway.refusal import Refusal
from takeover.sandbox.gateway.routes import Api, find_route
from takeover.sandbox.gateway.settings import Pinned, Settings


def understood(request: HttpRequest, **pins: Any) -> Asking:
    """The request under these pins."""
    route = find_route(request)
    assert not isinstance(route, Refusal)
    return understand(request, route, Settings(pinned=Pinned(**pins)))


def sent(request: HttpRequest, **pins: Any) -> dict[str, Any]:
    """What goes out of it."""
    return outgoing(understood(request, **pins), cap=None, ask_usage=False)


@pytest.mark.parametrize("api", APIS)
def test_without_pins_nothing_changes(api: Api) -> None:
    """Unknown fields, images and thinking blocks go out as they came."""
    odd = {
        "x_unknown": {"deep": [1, 1.5, None, "\ud83d\ude00", {"a": []}]},
        "messages": [{"role": "user", "content": [{"type": "image", "source": {"data": "AA=="}, "cache_control": {}}]}],
        "contents": [{"parts": [{"inlineData": {"data": "AA=="}}, {"thoughtSignature": "s", "text": "t"}]}],
        "thinking": {"type": "adaptive"},
    }
    request = post(path_of(api), {**body_of(api, "x", "s", ["bash"], False, "m-1"), **odd})

    assert sent(request) == json.loads(request.body)


@pytest.mark.parametrize("api", APIS)
def test_pins(api: Api) -> None:
    """Model, temperature, top-p and the cap are the run's, in the place where the format has them."""
    pins = {"model": "m-2", "temperature": 0.0, "top_p": 0.5, "output_cap": 1000}
    asking = understood(ask(api), **pins)
    out = outgoing(asking, cap=None, ask_usage=False)
    config = out["generationConfig"] if api is Api.GEMINI else out
    names = {
        Api.CHAT: ("temperature", "top_p", "max_completion_tokens"),
        Api.RESPONSES: ("temperature", "top_p", "max_output_tokens"),
        Api.MESSAGES: ("temperature", "top_p", "max_tokens"),
        Api.GEMINI: ("temperature", "topP", "maxOutputTokens"),
    }[api]

    assert [config[name] for name in names] == [0.0, 0.5, 1000]
    assert asking.model == "m-2"
    assert ("models/m-2:" in asking.route.path) if api is Api.GEMINI else out["model"] == "m-2"
    assert asking.changes[0].kind == "model"


def test_a_lower_cap_of_the_agent_stays() -> None:
    """A cap is a bound, not a value."""
    assert sent(ask(Api.MESSAGES, max_tokens=100), output_cap=1000)["max_tokens"] == 100


def test_no_spelling_goes_around_a_pin() -> None:
    """Google takes each field in two spellings, and OpenAI has two caps: all of them are bound."""
    config = {"max_output_tokens": 9999, "maxOutputTokens": 8888, "top_p": 0.9}
    gemini = sent(
        ask(Api.GEMINI, generation_config=config, generationConfig={"maxOutputTokens": 7777, "temperature": 2}),
        output_cap=10,
        temperature=0.0,
        top_p=1.0,
    )
    chat = sent(ask(Api.CHAT, max_tokens="9999", max_completion_tokens=True), output_cap=10)

    assert gemini["generation_config"] == {"max_output_tokens": 10, "maxOutputTokens": 10, "top_p": 1.0}
    assert gemini["generationConfig"] == {"maxOutputTokens": 10, "temperature": 0.0}
    assert (chat["max_tokens"], chat["max_completion_tokens"]) == (10, 10)


def test_of_a_repeated_key_the_judged_one_goes_out() -> None:
    """A key written twice cannot mean one thing to us and another to the provider."""
    body = b'{"model": "m-1", "mod\\u0065l": "dear", "messages": [], "max_tokens": 1, "max_tokens": 99999}'

    assert sent(post("/v1/messages", body), model="m-1", output_cap=10) == {
        "model": "m-1",
        "messages": [],
        "max_tokens": 10,
    }


def test_thinking_fits_into_a_lowered_cap() -> None:
    """Anthropic refuses a thinking budget that is not below the cap."""
    thinking = {"type": "enabled", "budget_tokens": 30_000}

    assert sent(ask(Api.MESSAGES, max_tokens=32_000, thinking=thinking), output_cap=2000)["thinking"] == {
        "type": "enabled",
        "budget_tokens": 1999,
    }
    assert "thinking" not in sent(ask(Api.MESSAGES, max_tokens=32_000, thinking=thinking), output_cap=500)


def test_tools_that_the_provider_runs() -> None:
    """They are told from the agent's own, and can be taken out."""
    requests = {
        Api.RESPONSES: ask(
            Api.RESPONSES,
            tools=(),
        ),
        Api.MESSAGES: ask(Api.MESSAGES),
        Api.GEMINI: ask(Api.GEMINI),
        Api.CHAT: ask(Api.CHAT, web_search_options={}),
    }
    search: dict[Api, Any] = {
        Api.RESPONSES: {"type": "web_search"},
        Api.MESSAGES: {"type": "web_search_20250305", "name": "web_search"},
        Api.GEMINI: {"googleSearch": {}},
    }
    for api, request in requests.items():
        body = json.loads(request.body)
        if api in search:
            body["tools"] = [*body["tools"], search[api]]
        asking = understood(post(path_of(api), body))
        stripped = understood(post(path_of(api), body), server_tools="strip")
        assert [tool.server for tool in asking.tools].count(True) == 1, api
        assert not any(tool.server for tool in stripped.tools), api
        assert stripped.changes, api


def test_what_is_a_turn() -> None:
    """A request with tools of the agent's is one; with none, or only the provider's, it is a side request."""
    assert understood(ask(Api.CHAT)).is_turn
    assert not understood(ask(Api.CHAT, tools=())).is_turn
    assert not understood(ask(Api.RESPONSES, tools=())).is_turn
    route = find_route(ask(Api.CHAT, tools=()))
    assert not isinstance(route, Refusal)
    assert understand(ask(Api.CHAT, tools=()), route, Settings(turns="all")).is_turn


def test_a_cassette_does_not_match_caps() -> None:
    """Budgets and servers have a say in them; the request stays the same."""
    asking = understood(ask(Api.GEMINI, generationConfig={"maxOutputTokens": 5, "temperature": 1}), output_cap=3)

    assert matching(asking)["generationConfig"] == {"temperature": 1}
    assert asking.document["generationConfig"] == {"maxOutputTokens": 3, "temperature": 1}


def test_a_granted_cap_changes_nothing_else() -> None:
    """The agent's document stays as it was for the next attempt."""
    asking = understood(ask(Api.MESSAGES, thinking={"type": "enabled", "budget_tokens": 3000}))
    before = json.dumps(asking.document)

    assert outgoing(asking, cap=2000, ask_usage=False)["max_tokens"] == 2000
    assert json.dumps(asking.document) == before


def test_bounds_of_a_request() -> None:
    """The lowest cap, the number of answers, and more input than there can be."""
    asking = understood(ask(Api.CHAT, n=3, max_tokens=50, max_completion_tokens=40))
    image = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x/y.png"}}]}
    linked = understood(ask(Api.CHAT, messages=[image]))

    assert (lowest_cap(asking), choices(asking)) == (40, 3)
    assert choices(understood(ask(Api.CHAT, n=-5))) == 1
    assert lowest_cap(understood(ask(Api.CHAT, max_tokens=None))) is None
    assert input_bound(asking) >= len(asking.request.body)
    assert input_bound(linked) > 200_000


def test_usage_is_asked_for_where_it_is_missing() -> None:
    """Only a Chat stream has to be asked; what else the agent set there stays."""
    plain = understood(ask(Api.CHAT, stream=True, stream_options={"x": 1}))
    told = understood(ask(Api.CHAT, stream=True, stream_options={"include_usage": True}))

    assert (lacks_usage(plain), lacks_usage(told), lacks_usage(understood(ask(Api.CHAT)))) == (True, False, False)
    assert outgoing(plain, cap=None, ask_usage=True)["stream_options"] == {"x": 1, "include_usage": True}


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"null", b"{", b"\xff{}", b'{"a": NaN}', b"[" * 200_000, b'{"a":' * 150 + b"1" + b"}" * 150, b'{"a": ' + b"9" * 5000 + b"}"],
)  # fmt: skip
def test_bad_bodies_are_refused(body: bytes) -> None:
    """What is no JSON object of sane depth is not read."""
    request = post("/v1/chat/completions", body)
    route = find_route(request)
    assert not isinstance(route, Refusal)
    with pytest.raises(NotJson):
        understand(request, route, Settings())


def test_caps_where_the_config_is_no_object() -> None:
    """A config of the wrong type is the provider's to refuse."""
    document: dict[str, Any] = {"generationConfig": "x"}
    lower_caps(understood(ask(Api.GEMINI)).dialect, document, 5)

    assert document["generationConfig"] == "x"
