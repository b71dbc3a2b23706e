"""The list of models, in each provider's shape: those that the run allows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .exchange import ResponsePart, whole
from .refusal import Refusal
from .routes import Provider, Route
from .settings import Settings


def listing(route: Route, settings: Settings) -> Iterator[ResponsePart] | None:
    """The response to a listing; None where the run allows any model, so that the provider is to say."""
    names = (settings.pinned.model,) if settings.pinned.model is not None else settings.models
    if not names:
        return None
    if route.model is None:
        document = _many(route.provider, [_one(route.provider, name) for name in names])
    elif route.model in names:
        document = _one(route.provider, route.model)
    else:
        message = f"The model {route.model} is not available."
        return Refusal(route.provider, 404, message).parts()
    return whole(200, (("content-type", "application/json"),), json.dumps(document).encode())


def _one(provider: Provider, name: str) -> dict[str, Any]:
    if provider == "anthropic":
        return {"type": "model", "id": name, "display_name": name, "created_at": "1970-01-01T00:00:00Z"}
    if provider == "gemini":
        methods = ["generateContent", "streamGenerateContent", "countTokens"]
        return {"name": f"models/{name}", "displayName": name, "supportedGenerationMethods": methods}
    return {"id": name, "object": "model", "created": 0, "owned_by": "takeover"}


def _many(provider: Provider, models: list[dict[str, Any]]) -> dict[str, Any]:
    if provider == "anthropic":
        return {"data": models, "has_more": False, "first_id": models[0]["id"], "last_id": models[-1]["id"]}
    if provider == "gemini":
        return {"models": models}
    return {"object": "list", "data": models}
