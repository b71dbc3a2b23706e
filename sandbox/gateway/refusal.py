"""A no of the gateway's own, in the shape in which the provider that the agent believes to talk to would say it.

404 is the status at which every agent stops within seconds (docs/gateway.md); most others make some of them retry.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

from .exchange import ResponsePart, whole

_ANTHROPIC: Final = {
    400: "invalid_request_error",
    404: "not_found_error",
    413: "request_too_large",
    502: "api_error",
}
_GOOGLE: Final = {400: "INVALID_ARGUMENT", 404: "NOT_FOUND", 413: "INVALID_ARGUMENT", 502: "UNAVAILABLE"}


@dataclass(frozen=True, slots=True)
class Refusal:
    """What is refused and why; `provider` gives the shape."""

    provider: Literal["openai", "anthropic", "gemini"]
    status: int
    message: str

    def document(self) -> dict[str, Any]:
        """The body."""
        if self.provider == "anthropic":
            kind = _ANTHROPIC.get(self.status, "invalid_request_error")
            return {"type": "error", "error": {"type": kind, "message": self.message}, "request_id": None}
        if self.provider == "gemini":
            status = _GOOGLE.get(self.status, "INVALID_ARGUMENT")
            return {"error": {"code": self.status, "message": self.message, "status": status}}
        kind = "server_error" if self.status >= 500 else "invalid_request_error"
        # litellm, which several agents use, takes a 404 for a bad request, and tries again, if it has no such code.
        code = "model_not_found" if self.status == 404 else None
        return {"error": {"message": self.message, "type": kind, "param": None, "code": code}}

    def parts(self, *, head: bool = False) -> Iterator[ResponsePart]:
        """The response; the answer to a HEAD request has no body."""
        headers = [("content-type", "application/json")]
        if self.status == 426:
            headers += [("upgrade", "HTTP/1.1"), ("connection", "upgrade")]
        body = b"" if head else json.dumps(self.document()).encode()
        yield from whole(self.status, tuple(headers), body)
