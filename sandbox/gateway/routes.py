"""Which request is meant: a table of the paths that are served, and nothing else is.

The path that goes upstream is written anew from what was recognised, so no trick in it (dots, escapes, a host) arrives.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal
from urllib.parse import parse_qsl

from .exchange import BODY_LIMIT, HEADERS_LIMIT, PATH_LIMIT, HttpRequest
from .refusal import Refusal

Provider = Literal["openai", "anthropic", "gemini"]
# How an answer comes: one JSON document, server-sent events, or a JSON array that grows.
Form = Literal["json", "sse", "array"]


class Api(StrEnum):
    """The wire formats."""

    CHAT = "chat"
    RESPONSES = "responses"
    MESSAGES = "messages"
    GEMINI = "gemini"


class Operation(StrEnum):
    """What is asked: an answer, a count of tokens, or which models there are."""

    GENERATE = "generate"
    COUNT = "count"
    MODELS = "models"


@dataclass(frozen=True, slots=True)
class Route:
    """A request that is served. `model` and `form` are set where the path says them (Gemini)."""

    provider: Provider
    api: Api
    operation: Operation
    path: str
    query: str = ""
    model: str | None = None
    form: Form | None = None

    @property
    def target(self) -> str:
        """Path and query as they go upstream."""
        return f"{self.path}?{self.query}" if self.query else self.path


_POSTS: Final = {
    "/v1/chat/completions": ("openai", Api.CHAT, Operation.GENERATE),
    "/v1/responses": ("openai", Api.RESPONSES, Operation.GENERATE),
    "/v1/messages": ("anthropic", Api.MESSAGES, Operation.GENERATE),
    "/v1/messages/count_tokens": ("anthropic", Api.MESSAGES, Operation.COUNT),
}
_MODEL: Final = r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}"
_OPENAI_MODEL: Final = re.compile(rf"/v1/models(?:/((?:{_MODEL}/){{0,3}}{_MODEL}))?")
_GEMINI: Final = re.compile(
    rf"/(?:v1beta|v1beta1/publishers/google)/models(?:/({_MODEL})(?::(generateContent|streamGenerateContent|countTokens))?)?"
)


def find_route(request: HttpRequest) -> Route | Refusal:
    """The route of a request, or why there is none."""
    provider = provider_of(request)
    if len(request.path) > PATH_LIMIT or sum(len(key) + len(value) for key, value in request.headers) > HEADERS_LIMIT:
        return Refusal(provider, 431, "The request's headers are too large.")
    if len(request.body) > BODY_LIMIT:
        return Refusal(provider, 413, "The request is too large.")
    path, _, query = request.path.partition("?")
    if request.method == "GET" and path == "/v1/responses":
        # Codex asks for a WebSocket first, and falls back at once when told so.
        return Refusal(provider, 426, "WebSockets are not served here; use HTTP.")
    found = None
    if request.method == "POST":
        found = _post(path, query)
    elif request.method == "GET":
        found = _models(path, provider)
    return found or Refusal(provider, 404, "There is nothing at this path.")


def provider_of(request: HttpRequest) -> Provider:
    """In whose shape an answer is expected, also where nothing is served."""
    path = request.path
    if path.startswith(("/v1beta/", "/v1beta1/")) or request.header("x-goog-api-key") is not None:
        return "gemini"
    anthropic = request.header("anthropic-version") is not None or request.header("x-api-key") is not None
    if anthropic or path.startswith(("/v1/messages", "/api/")):
        return "anthropic"
    return "openai"


def _post(path: str, query: str) -> Route | None:
    if (known := _POSTS.get(path)) is not None:
        provider, api, operation = known
        beta = provider == "anthropic" and ("beta", "true") in _pairs(query)
        return Route(provider, api, operation, path, "beta=true" if beta else "")  # type: ignore[arg-type]
    match = _GEMINI.fullmatch(path)
    if match is None or match[2] is None:
        return None
    target = f"/v1beta/models/{match[1]}:{match[2]}"
    if match[2] == "countTokens":
        return Route("gemini", Api.GEMINI, Operation.COUNT, target, model=match[1], form="json")
    if match[2] == "generateContent":
        return Route("gemini", Api.GEMINI, Operation.GENERATE, target, model=match[1], form="json")
    sse = ("alt", "sse") in _pairs(query)
    return Route(
        "gemini", Api.GEMINI, Operation.GENERATE, target, "alt=sse" if sse else "", match[1], "sse" if sse else "array"
    )


def _models(path: str, provider: Provider) -> Route | None:
    if match := _OPENAI_MODEL.fullmatch(path):
        api = Api.MESSAGES if provider == "anthropic" else Api.CHAT
        return Route(provider, api, Operation.MODELS, path, model=match[1], form="json")
    match = _GEMINI.fullmatch(path)
    if match is None or match[2] is not None:
        return None
    target = f"/v1beta/models/{match[1]}" if match[1] else "/v1beta/models"
    return Route("gemini", Api.GEMINI, Operation.MODELS, target, model=match[1], form="json")


def _pairs(query: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query, max_num_fields=20)
    except ValueError:
        return []
