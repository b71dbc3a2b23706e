"""Only what is served is served, and what goes upstream is written anew."""

from __future__ import annotations

import json

import pytest
from gateway_kit import collect, post

from takeover.sandbox.gateway.exchange import BODY_LIMIT, HttpRequest
from takeover.sandbox.gateway.refusal import Refusal
from takeover.sandbox.gateway.routes import Api, Operation, Route, find_route

SERVED = {
    "/v1/chat/completions": (Api.CHAT, "/v1/chat/completions"),
    "/v1/chat/completions?api_key=stolen": (Api.CHAT, "/v1/chat/completions"),
    "/v1/responses": (Api.RESPONSES, "/v1/responses"),
    "/v1/messages": (Api.MESSAGES, "/v1/messages"),
    "/v1/messages?beta=true": (Api.MESSAGES, "/v1/messages?beta=true"),
    "/v1/messages?beta=true&host=evil": (Api.MESSAGES, "/v1/messages?beta=true"),
    "/v1/messages/count_tokens?beta=true": (Api.MESSAGES, "/v1/messages/count_tokens?beta=true"),
    "/v1beta/models/g-1.5:generateContent": (Api.GEMINI, "/v1beta/models/g-1.5:generateContent"),
    "/v1beta/models/g:streamGenerateContent?alt=sse&key=x": (
        Api.GEMINI,
        "/v1beta/models/g:streamGenerateContent?alt=sse",
    ),
    "/v1beta1/publishers/google/models/g:generateContent": (Api.GEMINI, "/v1beta/models/g:generateContent"),
    "/v1beta/models/g:countTokens": (Api.GEMINI, "/v1beta/models/g:countTokens"),
}
TRICKS = [
    "http://evil.example/v1/chat/completions",
    "//evil.example/v1/chat/completions",
    "/v1/../v1/chat/completions",
    "/v1/chat/completions/../../admin",
    "/v1/chat%2fcompletions",
    "/v1/chat/completions#x",
    "/v1/chat/completions/",
    "/v1/files",
    "/v1/messages/batches",
    "/v1beta/models/../files:generateContent",
    "/v1beta/models/a/b:generateContent",
    "/v1beta/models/g:generateContent:x",
    "/v1beta/models/g%3AgenerateContent",
    "/v1beta/models/@evil.example:generateContent",
    "/v1beta1/publishers/google/models/g:predict",
    "/v1beta/cachedContents",
    "*",
    "",
    "/v1/responses\r\nHost: evil",
]


@pytest.mark.parametrize("path", SERVED)
def test_what_is_served(path: str) -> None:
    """Each path leads to its format, and only what is known of it goes on."""
    route = find_route(HttpRequest("POST", path))

    assert isinstance(route, Route)
    assert (route.api, route.target) == SERVED[path]


@pytest.mark.parametrize("path", TRICKS)
@pytest.mark.parametrize("method", ["POST", "GET", "PUT", "DELETE", "CONNECT"])
def test_tricks_lead_nowhere(method: str, path: str) -> None:
    """Hosts, dots, escapes and other paths get a 404."""
    refusal = find_route(HttpRequest(method, path))

    assert isinstance(refusal, Refusal)
    assert refusal.status == 404


def test_other_methods_lead_nowhere() -> None:
    """A path is served with one method."""
    for method in ("GET", "PUT", "PATCH", "OPTIONS", "DELETE", "HEAD", "post", ""):
        refusal = find_route(HttpRequest(method, "/v1/chat/completions"))
        assert isinstance(refusal, Refusal), method


def test_a_web_socket_is_told_to_be_http() -> None:
    """Codex asks for one first and falls back at once."""
    refusal = find_route(HttpRequest("GET", "/v1/responses", (("upgrade", "websocket"),)))

    assert isinstance(refusal, Refusal)
    response = collect(refusal.parts())
    assert (response.status, response.headers["upgrade"]) == (426, "HTTP/1.1")


@pytest.mark.parametrize("path", ["/", "/api/hello", "/v1/messages"])
def test_probes_get_no_body(path: str) -> None:
    """HEAD is answered without a body."""
    refusal = find_route(HttpRequest("HEAD", path))

    assert isinstance(refusal, Refusal)
    response = collect(refusal.parts(head=True))
    assert (response.status, response.body) == (404, b"")


@pytest.mark.parametrize(
    ("path", "headers", "shape"),
    [
        (
            "/nothing",
            (),
            {"error": {"message": "M", "type": "invalid_request_error", "param": None, "code": "model_not_found"}},
        ),
        ("/api/x", (), {"type": "error", "error": {"type": "not_found_error", "message": "M"}, "request_id": None}),
        (
            "/x",
            (("X-Api-Key", "x"),),
            {"type": "error", "error": {"type": "not_found_error", "message": "M"}, "request_id": None},
        ),
        ("/v1beta/x", (), {"error": {"code": 404, "message": "M", "status": "NOT_FOUND"}}),
        ("/x", (("x-goog-api-key", "x"),), {"error": {"code": 404, "message": "M", "status": "NOT_FOUND"}}),
    ],
)
def test_refusals_have_the_providers_shape(path: str, headers: tuple[tuple[str, str], ...], shape: object) -> None:
    """An agent sees what its provider would say."""
    refusal = find_route(HttpRequest("POST", path, headers))

    assert isinstance(refusal, Refusal)
    body = json.loads(json.dumps(refusal.document()).replace(refusal.message, "M"))
    assert body == shape


def test_models() -> None:
    """Lists and single models, in each provider's way."""
    found = [
        find_route(HttpRequest("GET", "/v1/models")),
        find_route(HttpRequest("GET", "/v1/models/org/m-1", (("anthropic-version", "1"),))),
        find_route(HttpRequest("GET", "/v1beta/models?pageSize=50")),
        find_route(HttpRequest("GET", "/v1beta/models/g-1")),
    ]

    assert [(route.provider, route.operation, route.model) for route in found if isinstance(route, Route)] == [
        ("openai", Operation.MODELS, None),
        ("anthropic", Operation.MODELS, "org/m-1"),
        ("gemini", Operation.MODELS, None),
        ("gemini", Operation.MODELS, "g-1"),
    ]


def test_too_large() -> None:
    """Headers and bodies have bounds."""
    many = find_route(HttpRequest("POST", "/v1/messages", tuple((f"x-{n}", "y" * 1000) for n in range(100))))
    long = find_route(HttpRequest("POST", "/v1/messages?" + "a" * 5000))
    large = find_route(post("/v1/messages", b"x" * (BODY_LIMIT + 1)))

    assert [one.status for one in (many, long, large) if isinstance(one, Refusal)] == [431, 431, 413]
