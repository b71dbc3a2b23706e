"""Requests in every wire format, a provider on 127.0.0.1 that does as it is told, and a bridge for real SDKs."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from takeover.sandbox.gateway.exchange import HttpRequest, ResponsePart
from takeover.sandbox.gateway.gateway import Gateway
from takeover.sandbox.gateway.real import Real
from takeover.sandbox.gateway.redaction import Secret
from takeover.sandbox.gateway.routes import Api
from takeover.sandbox.gateway.targets import Target
from takeover.sandbox.gateway.upstream import Upstream
from takeover.sandbox.gateway.volatile import NOTHING_VOLATILE, Volatile

KEY = "sk-proj-A1b2C3d4E5f6G7h8I9j0/+x"
APIS = list(Api)
SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
PATHS = {Api.CHAT: "/v1/chat/completions", Api.RESPONSES: "/v1/responses", Api.MESSAGES: "/v1/messages?beta=true"}


@dataclass
class Response:
    """A response put together; `parts` are the bodies as they came."""

    status: int | None
    headers: dict[str, str]
    parts: list[bytes]
    cut: bool

    @property
    def body(self) -> bytes:
        return b"".join(self.parts)

    def json(self) -> Any:
        return json.loads(self.body)


def collect(parts: Iterator[ResponsePart]) -> Response:
    """The whole response; its parts must end as the frames need it."""
    got = list(parts)
    assert got[0].status is not None
    assert all(part.status is None for part in got[1:])
    assert [part.more for part in got] == [True] * (len(got) - 1) + [False]
    assert all(len(part.body) <= 1 << 20 for part in got)
    return Response(got[0].status, dict(got[0].headers), [part.body for part in got if part.body], got[-1].cut)


def send(gateway: Gateway, request: HttpRequest) -> Response:
    """Ask the gateway."""
    return collect(gateway.handle(request))


def post(path: str, body: Any, *headers: tuple[str, str]) -> HttpRequest:
    """A POST of JSON, or of bytes as they are."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return HttpRequest("POST", path, (("content-type", "application/json"), *headers), data)


def ask(
    api: Api,
    text: str = "Do it.",
    *,
    system: str = "You are an agent.",
    tools: Sequence[str] = ("bash",),
    stream: bool = False,
    model: str = "m-1",
    **more: Any,
) -> HttpRequest:
    """A first request of an agent in a wire format."""
    return post(path_of(api, model, stream=stream), body_of(api, text, system, tools, stream, model) | more)


def path_of(api: Api, model: str = "m-1", *, stream: bool = False) -> str:
    """Where a format is asked."""
    if api is Api.GEMINI:
        return f"/v1beta/models/{model}:" + ("streamGenerateContent?alt=sse" if stream else "generateContent")
    return PATHS[api]


def body_of(api: Api, text: str, system: str, tools: Sequence[str], stream: bool, model: str) -> dict[str, Any]:
    """The body of a first request."""
    flag = {"stream": True} if stream else {}
    if api is Api.CHAT:
        messages = [{"role": "system", "content": system}, {"role": "user", "content": text}]
        made = [{"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in tools]
        return {"model": model, "messages": messages, **({"tools": made} if made else {}), **flag}
    if api is Api.RESPONSES:
        message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
        made = [{"type": "function", "name": name, "parameters": SCHEMA} for name in tools]
        return {"model": model, "instructions": system, "input": [message], "tools": made, **flag}
    if api is Api.MESSAGES:
        made = [{"name": name, "input_schema": SCHEMA} for name in tools]
        messages = [{"role": "user", "content": [{"type": "text", "text": text}]}]
        return {"model": model, "max_tokens": 4096, "system": system, "messages": messages, "tools": made, **flag}
    declared = [{"functionDeclarations": [{"name": name, "parameters": SCHEMA} for name in tools]}] if tools else []
    contents = [{"role": "user", "parts": [{"text": text}]}]
    return {"systemInstruction": {"parts": [{"text": system}]}, "contents": contents, "tools": declared}


def sse(*events: Any) -> list[bytes]:
    """Events as chunks of a stream; text is sent as it is."""
    return [f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n".encode() for event in events]


def chat_chunk(
    content: str | None = None, finish: str | None = None, model: str = "m-1", **more: Any
) -> dict[str, Any]:
    """One chunk of a Chat stream."""
    delta = {} if content is None else {"content": content}
    return {"id": "c1", "model": model, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}


def chat_answer(text: str = "Done.", model: str = "m-1", usage: Any = "some") -> dict[str, Any]:
    """A whole Chat answer."""
    if usage == "some":
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    message = {"role": "assistant", "content": text}
    made = {"id": "c1", "model": model, "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    return made | ({"usage": usage} if usage is not None else {})


@dataclass
class Canned:
    """What the provider answers once: `cut` breaks the connection off after the chunks; `pause` waits before each."""

    chunks: Sequence[bytes] = ()
    status: int = 200
    kind: str = "application/json"
    headers: Sequence[tuple[str, str]] = ()
    cut: bool = False
    pause: float = 0.0
    hold: threading.Event | None = None


def canned(document: Any, status: int = 200, **more: Any) -> Canned:
    """A JSON document as an answer."""
    return Canned([json.dumps(document).encode()], status, **more)


def streamed(*chunks: bytes, **more: Any) -> Canned:
    """Chunks as a stream."""
    return Canned(chunks, kind="text/event-stream", **more)


@dataclass
class Seen:
    """A request as it reached the provider."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Provider:
    """A server on 127.0.0.1 that gives its answers in order, the last one for ever."""

    answers: list[Canned] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    url: str = ""
    lock: Any = field(default_factory=threading.Lock)

    def take(self, seen: Seen) -> Canned:
        with self.lock:
            self.seen.append(seen)
            return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@contextlib.contextmanager
def provider(*answers: Canned) -> Iterator[Provider]:
    """A running provider."""
    made = Provider(list(answers))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer = made.take(Seen(self.command, self.path, headers, body))
            self.send_response(answer.status)
            self.send_header("content-type", answer.kind)
            for name, value in answer.headers:
                self.send_header(name, value)
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            with contextlib.suppress(OSError):
                self._chunks(answer)

        do_GET = do_POST

        def _chunks(self, answer: Canned) -> None:
            for chunk in answer.chunks:
                time.sleep(answer.pause)
                self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            if answer.hold is not None:
                answer.hold.wait(10)
            if answer.cut:
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            self.wfile.write(b"0\r\n\r\n")

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    with serving(Handler) as url:
        made.url = url
        yield made


@contextlib.contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """A server on a free port, gone at the end."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    server.socket.listen(256)  # a crowd may come at once
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


@contextlib.contextmanager
def real(url: str, key: str | None = KEY) -> Iterator[Upstream]:
    """The real upstream, with all providers at one address."""
    secret = Secret(key) if key is not None else None
    made = Real({name: Target(url, secret, "KEY") for name in ("openai", "anthropic", "gemini")})
    session = made.upstream("t.1/1-session", NOTHING_VOLATILE)
    try:
        yield session
    finally:
        session.end()
        session.close()


@contextlib.contextmanager
def bridge(gateway: Gateway) -> Iterator[str]:
    """The gateway behind plain HTTP, as the guest serves it to an agent."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            request = HttpRequest(self.command, self.path, tuple(self.headers.items()), body)
            for part in gateway.handle(request):
                if part.status is not None:
                    self.send_response(part.status)
                    for name, value in part.headers:
                        self.send_header(name, value)
                    self.send_header("transfer-encoding", "chunked")
                    self.end_headers()
                if part.body:
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(part.body), part.body))
                    self.wfile.flush()
                if part.cut:
                    self.close_connection = True
                    self.connection.shutdown(socket.SHUT_RDWR)
                elif not part.more:
                    self.wfile.write(b"0\r\n\r\n")

        do_GET = do_POST

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    with serving(Handler) as url:
        yield url


class Fixed:
    """A supply that gives every session the same upstream."""

    def __init__(self, inner: Upstream) -> None:
        self.inner = inner

    def upstream(self, scope: str, volatile: Volatile) -> Upstream:
        return self.inner

    def secrets(self) -> list[Secret]:
        return []

    def close(self) -> None:
        pass
