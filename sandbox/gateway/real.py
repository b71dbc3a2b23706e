"""The real APIs, and servers that speak OpenAI's. The only place where a key is put into a request.

Where a request goes is fixed by its provider; nothing an agent sends has a say in it. Redirects are refused: one would
carry key and prompt elsewhere. Imports httpx, which is slow to import: not for what starts with every command.
"""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import ssl
import threading
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import urlsplit

import certifi
import httpx

from ..errors import InputError
from .exchange import Headers
from .redaction import SHORTEST, Secret
from .routes import Operation, Provider
from .upstream import LEFT, Answer, ModelUnavailable, Unreached, UpstreamCall
from .volatile import Volatile

CONNECT_SECONDS: Final = 10.0
# The longest silence. Models that think send nothing for minutes.
READ_SECONDS: Final = 600.0
UPSTREAM_KEY: Final = "TAKEOVER_UPSTREAM_KEY"

KEYS: Final[Mapping[Provider, str]] = MappingProxyType(
    {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "gemini": "GEMINI_API_KEY"}
)
BASES: Final[Mapping[Provider, str]] = MappingProxyType(
    {
        "openai": "https://api.openai.com",
        "anthropic": "https://api.anthropic.com",
        "gemini": "https://generativelanguage.googleapis.com",
    }
)
# What of an agent's headers goes on, and what of the provider's comes back. The others name accounts, hosts and cookies.
_SENT: Final = frozenset(
    ["accept", "anthropic-beta", "anthropic-version", "content-type", "openai-beta", "user-agent", "x-goog-api-client"]
)
_PASSED: Final = frozenset(
    ["content-type", "request-id", "retry-after", "retry-after-ms", "x-request-id", "x-should-retry"]
)
_HEADER_LIMIT: Final = 8192


@dataclass(frozen=True, slots=True)
class Target:
    """Where a provider's requests go, and the key for it."""

    base: str
    key: Secret | None
    key_name: str
    # Whether a request without a key has no chance.
    needs_key: bool = True


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
            raise ModelUnavailable(
                f"the agent asked {provider} for a model, and {name} is not set", hint=f"Set {name}."
            )
        # httpx takes no deadline for a whole exchange, but one for each silence in it.
        silence = max(0.05, min(READ_SECONDS, call.seconds))
        request = self._client.build_request(
            "GET" if call.route.operation is Operation.MODELS else "POST",
            target.base + call.route.target,
            headers=_outgoing(call, target),
            content=call.body or None,
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


def real_targets(environ: Mapping[str, str]) -> dict[Provider, Target]:
    """The providers' own APIs, with the keys that the environment has."""
    return {
        provider: Target(base, _secret(environ.get(KEYS[provider])), KEYS[provider]) for provider, base in BASES.items()
    }


def server_targets(url: str, environ: Mapping[str, str]) -> dict[Provider, Target]:
    """One server for all formats, as `--upstream URL` names it. Raises InputError.

    It is sent no provider's key: its own, if it wants one, is in TAKEOVER_UPSTREAM_KEY.
    """
    parts = urlsplit(url.strip())
    key = _secret(environ.get(UPSTREAM_KEY))
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise InputError(f"--upstream {url!r}: is no address of a server", hint="Write it like http://127.0.0.1:8000.")
    if parts.username is not None or parts.password is not None:
        raise InputError("--upstream: keep the password out of the address", hint=f"Put the key into {UPSTREAM_KEY}.")
    if parts.scheme == "http" and key is not None and len(key.reveal()) >= SHORTEST and not _is_near(parts.hostname):
        raise InputError(f"--upstream {url!r}: a key would go there unencrypted", hint="Use https.")
    path = parts.path.rstrip("/").removesuffix("/v1")
    target = Target(f"{parts.scheme}://{parts.netloc}{path}", key, UPSTREAM_KEY, needs_key=False)
    return dict.fromkeys(BASES, target)


def trust(environ: Mapping[str, str]) -> ssl.SSLContext:
    """Whom TLS trusts: SSL_CERT_FILE or SSL_CERT_DIR where they are set, else the usual authorities. Raises InputError."""
    file, folder = environ.get("SSL_CERT_FILE") or None, environ.get("SSL_CERT_DIR") or None
    if file is not None and not Path(file).is_file():
        raise InputError(f"SSL_CERT_FILE: {file}: is no file")
    try:
        if file is None and folder is None:
            return ssl.create_default_context(cafile=certifi.where())
        return ssl.create_default_context(cafile=file, capath=folder)
    except (OSError, ssl.SSLError) as e:
        raise InputError(f"SSL_CERT_FILE: {file or folder}: holds no certificates: {e}") from e


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


def _is_near(host: str) -> bool:
    """Whether a host is this machine or in a private network."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "." not in host or host.endswith((".local", ".internal", ".localhost"))
    return address.is_private or address.is_loopback


def _secret(value: str | None) -> Secret | None:
    value = (value or "").strip()
    if not value:
        return None
    if not value.isascii() or not value.isprintable():
        raise InputError(
            "a key in the environment holds characters that no key has", hint="Check the API key variables."
        )
    return Secret(value)


def _why(error: Exception) -> str:
    """What went wrong, without the request in it."""
    kind = type(error).__name__
    text = " ".join(str(error).split())
    return f"{kind}: {text[:200]}" if text else kind
