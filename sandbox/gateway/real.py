"""The real APIs, and servers that speak OpenAI's. The only place where a key is put into a request.

Where a request goes is fixed by its provider; nothing an agent sends has a say in it. Redirects are refused: one would
carry key and prompt elsewhere. Imports httpx, which is slow to import: not for what starts with every command.
"""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import threading
import weakref
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import certifi
import httpx

from .exchange import Headers
from .jsontext import to_bytes
from .redaction import Secret
from .routes import Api, Operation, Provider
from .targets import KEYS, Target
from .upstream import LEFT, Answer, ModelUnavailable, NoKey, Unreached, UpstreamCall
from .volatile import Volatile

CONNECT_SECONDS: Final = 10.0
# The longest silence. Models that think send nothing for minutes.
READ_SECONDS: Final = 600.0
# What of an agent's headers goes on, and what of the provider's comes back. The others name accounts, hosts and cookies.
_SENT: Final = frozenset(
    ["accept", "anthropic-beta", "anthropic-version", "content-type", "openai-beta", "user-agent", "x-goog-api-client"]
)
_PASSED: Final = frozenset(
    ["content-type", "request-id", "retry-after", "retry-after-ms", "x-request-id", "x-should-retry"]
)
_HEADER_LIMIT: Final = 8192


class Real:
    """Sends calls over HTTP. One for a whole run."""

    def __init__(self, targets: Mapping[Provider, Target], context: ssl.SSLContext | None = None) -> None:
        self._targets = dict(targets)
        self._context = context if context is not None else ssl.create_default_context(cafile=certifi.where())

    def upstream(self, scope: str, volatile: Volatile) -> RealSession:  # noqa: ARG002  # nothing is matched
        """Each session has connections of its own, which end with it."""
        return RealSession(self._targets, self._context)

    def secrets(self) -> list[Secret]:
        """The keys, for a Redactor."""
        return [target.key for target in self._targets.values() if target.key is not None]

    def close(self) -> None:
        """Nothing is open but what sessions have."""


class RealSession:
    """The calls of one session; `end` it."""

    paced = True

    def __init__(self, targets: Mapping[Provider, Target], context: ssl.SSLContext) -> None:
        self._targets = targets
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._client = httpx.Client(
            verify=context,
            follow_redirects=False,
            # A proxy of the environment cannot reach what is on this machine.
            mounts={f"all://{host}": None for host in ("127.0.0.1", "localhost", "[::1]")},
            timeout=httpx.Timeout(READ_SECONDS, connect=CONNECT_SECONDS),
            limits=httpx.Limits(max_connections=256, max_keepalive_connections=64, keepalive_expiry=60),
        )

    def end(self) -> None:
        """See Upstream.end."""
        with self._lock:
            self._over.set()
            sockets = list(self._sockets)
        for sock in sockets:
            _shut(sock)

    def close(self) -> None:
        """See Upstream.close."""
        self._client.close()

    def send(self, call: UpstreamCall) -> Answer:
        """Send a call. Raises Unreached, or ModelUnavailable if there is no key for it or it is sent elsewhere."""
        provider = call.route.provider
        target = self._targets.get(provider)
        if target is None or (target.key is None and target.needs_key):
            name = KEYS[provider]
            raise NoKey(f"the agent asked {provider} for a model, and {name} is not set", hint=f"Set {name}.")
        # httpx takes no deadline for a whole exchange, but one for each silence in it.
        silence = max(0.05, min(READ_SECONDS, call.seconds))
        request = self._client.build_request(
            "GET" if call.route.operation is Operation.MODELS else "POST",
            target.base + call.route.target,
            headers=_outgoing(call, target),
            content=_body(call, target) or None,
            timeout=httpx.Timeout(silence, connect=min(CONNECT_SECONDS, silence)),
            extensions={"trace": self._trace},
        )
        if self._over.is_set():
            raise Unreached(LEFT, sent=False)
        try:
            response = self._client.send(request, stream=True)
        except httpx.HTTPError as e:
            if "CERTIFICATE_VERIFY_FAILED" in str(e):
                hint = "If its certificate is of an authority of your own, name that in SSL_CERT_FILE."
                raise ModelUnavailable(f"{target.base} cannot prove who it is: {_why(e)}", hint=hint) from None
            sent = not isinstance(e, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)
            why = LEFT if self._over.is_set() else f"{urlsplit(target.base).hostname}: {_why(e)}"
            raise Unreached(why, sent=sent) from None
        if response.is_redirect:
            response.close()
            raise ModelUnavailable(
                f"{target.base} answered with a redirect ({response.status_code}), which is refused",
                hint="Give the address that it leads to, if you trust it.",
            )
        return _HttpAnswer(response, self._over)

    def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Know every connection from the moment in which it is made: a silent one ends with the session."""
        if not event.endswith(("connect_tcp.complete", "start_tls.complete")):
            return
        sock = info["return_value"].get_extra_info("socket")
        if not isinstance(sock, socket.socket):
            return
        with self._lock:
            self._sockets.add(sock)
        if self._over.is_set():
            _shut(sock)


class _HttpAnswer:
    def __init__(self, response: httpx.Response, over: threading.Event) -> None:
        self.status = response.status_code
        self.headers: Headers = tuple(
            (name.lower(), value[:_HEADER_LIMIT])
            for name, value in response.headers.multi_items()
            if name.lower() in _PASSED
        )
        self._response = response
        self._over = over

    def chunks(self) -> Iterator[bytes]:
        try:
            yield from (chunk for chunk in self._response.iter_bytes() if chunk)
        except (httpx.HTTPError, httpx.StreamError, OSError) as e:
            raise Unreached(LEFT if self._over.is_set() else _why(e)) from None

    def abort(self) -> None:
        stream = self._response.extensions.get("network_stream")
        sock = stream.get_extra_info("socket") if stream is not None else None
        if isinstance(sock, socket.socket):
            _shut(sock)

    def close(self) -> None:
        self._response.close()


def _shut(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):
        # The plain socket's own: TLS would want to say goodbye, in the other thread's way.
        socket.socket.shutdown(sock, socket.SHUT_RDWR)


def _outgoing(call: UpstreamCall, target: Target) -> list[tuple[str, str]]:
    headers = [(name.lower(), value) for name, value in call.headers if name.lower() in _SENT and _is_plain(value)]
    # What is compressed could not be read as it passes.
    headers.append(("accept-encoding", "identity"))
    if target.key is None:
        return headers
    key = target.key.reveal()
    if call.route.provider == "anthropic":
        headers.append(("x-api-key", key))
    elif call.route.provider == "gemini":
        headers.append(("x-goog-api-key", key))
    if call.route.provider == "openai" or not target.needs_key:
        headers.append(("authorization", f"Bearer {key}"))
    return headers


def _is_plain(value: str) -> bool:
    return len(value) <= _HEADER_LIMIT and value.isascii() and value.isprintable()


def _body(call: UpstreamCall, target: Target) -> bytes:
    """The body as it goes out: with Chat's cap on output under both of its names, where only the older may be known."""
    if not target.older_cap or call.route.api is not Api.CHAT or b"max_completion_tokens" not in call.body:
        return call.body
    document = json.loads(call.body)
    cap = document.get("max_completion_tokens")
    return call.body if cap is None else to_bytes({"max_tokens": cap, **document})


def _why(error: Exception) -> str:
    """What went wrong, without the request in it."""
    kind = type(error).__name__
    text = " ".join(str(error).split())
    return f"{kind}: {text[:200]}" if text else kind
