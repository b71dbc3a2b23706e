"""What goes to a provider: the key in its header, a fixed address, nothing of the agent's but what belongs there."""

from __future__ import annotations

import json
import ssl
import subprocess
from pathlib import Path

import gateway_kit
import pytest
from gateway_kit import APIS, KEY, Canned, ask, canned, chat_answer, post, provider, real, send, streamed

from takeover.sandbox.errors import InputError
from takeover.sandbox.gateway.exchange import HttpRequest
from takeover.sandbox.gateway.gateway import Gateway
from takeover.sandbox.gateway.real import Real
from takeover.sandbox.gateway.redaction import Redactor, Secret
from takeover.sandbox.gateway.routes import Api
from takeover.sandbox.gateway.settings import Pinned, Settings
from takeover.sandbox.gateway.supply import Source, open_supply
from takeover.sandbox.gateway.targets import Target, real_targets, server_targets, trust
from takeover.sandbox.gateway.upstream import ModelUnavailable
from takeover.sandbox.gateway.volatile import NOTHING_VOLATILE

HOSTILE = (
    ("Host", "evil.example"),
    ("X-Forwarded-Host", "evil.example"),
    ("Authorization", "Bearer of-the-agent"),
    ("X-Api-Key", "of-the-agent"),
    ("X-Goog-Api-Key", "of-the-agent"),
    ("OpenAI-Organization", "org-other"),
    ("OpenAI-Project", "proj-other"),
    ("Cookie", "session=1"),
    ("Content-Length", "5"),
    ("Transfer-Encoding", "chunked"),
    ("Connection", "upgrade"),
    ("Proxy-Authorization", "Basic x"),
    ("anthropic-beta", "flag-1,flag-2"),
    ("anthropic-version", "2023-06-01"),
    ("User-Agent", "agent/1.0"),
    ("x-evil", "a\r\nInjected: yes"),
    ("accept", "text/event-stream\r\nInjected: yes"),
)


def hostile(api: Api) -> HttpRequest:
    made = ask(api)
    return HttpRequest(made.method, made.path, (*made.headers, *HOSTILE), made.body)


@pytest.mark.parametrize("api", APIS)
def test_what_reaches_the_provider(api: Api) -> None:
    """The body as it is, our key in the provider's header, and no other credential, host, account or cookie."""
    with provider(canned(chat_answer())) as server, real(server.url) as upstream, Gateway(upstream) as gateway:
        send(gateway, hostile(api))
        seen = server.seen[0]

    assert seen.json() == json.loads(ask(api).body)
    assert seen.headers["host"] == server.url.removeprefix("http://")
    keys = {
        name: seen.headers.get(name)
        for name in ("authorization", "x-api-key", "x-goog-api-key")
        if name in seen.headers
    }
    assert (
        keys
        == {
            Api.CHAT: {"authorization": f"Bearer {KEY}"},
            Api.RESPONSES: {"authorization": f"Bearer {KEY}"},
            Api.MESSAGES: {"x-api-key": KEY},
            Api.GEMINI: {"x-goog-api-key": KEY},
        }[api]
    )
    assert seen.headers["accept-encoding"] == "identity"
    assert seen.headers["user-agent"] == "agent/1.0"
    assert seen.headers["anthropic-beta"] == "flag-1,flag-2"
    assert not {"cookie", "openai-organization", "openai-project", "x-forwarded-host", "x-evil", "injected"} & set(
        seen.headers
    )
    assert "of-the-agent" not in str(seen.headers)
    assert int(seen.headers["content-length"]) == len(seen.body)


def test_what_comes_back() -> None:
    """Status, body and what a client needs to retry; accounts and cookies stay here."""
    headers = [
        ("x-request-id", "r1"),
        ("openai-organization", "org-secret"),
        ("set-cookie", "x=1"),
        ("retry-after", "3"),
    ]
    limited = canned({"error": {}}, 429, headers=headers)
    with provider(limited) as server, real(server.url) as upstream, Gateway(upstream) as gateway:
        response = send(gateway, ask(Api.CHAT))

    assert response.headers == {"content-type": "application/json", "x-request-id": "r1", "retry-after": "3"}


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_refused(status: int) -> None:
    """It would carry key and prompt elsewhere."""
    with provider(Canned([b"{}"])) as elsewhere:
        moved = Canned([], status, headers=[("location", f"{elsewhere.url}/v1/chat/completions")])
        with provider(moved) as server, real(server.url) as upstream, Gateway(upstream) as gateway:
            response = send(gateway, ask(Api.CHAT))
        assert elsewhere.seen == []

    assert response.status == 404
    assert isinstance(gateway.failure, ModelUnavailable)
    assert "redirect" in str(gateway.failure)


def test_an_agent_that_has_a_model_asks_for_none_elsewhere() -> None:
    """A provider without a key fails the session of an agent that has no other; later it is a door that is closed.

    So is a model that the key may not use.
    """
    barred = canned({"error": {"message": "no access to this model"}}, 403)
    for answers, failed in (([barred], True), ([canned(chat_answer()), barred], False)):
        with provider(*answers) as server, real(server.url) as upstream, Gateway(upstream) as gateway:
            for _ in answers:
                response = send(gateway, ask(Api.CHAT))
        assert (response.status, gateway.failure is not None) == ((404, True) if failed else (403, False))
    with provider(canned(chat_answer())) as server:
        targets = {"openai": Target(server.url, Secret(KEY), "KEY"), "gemini": Target(server.url, None, "KEY")}
        failures, statuses = [], []
        for order in ([Api.GEMINI], [Api.CHAT, Api.GEMINI, Api.CHAT]):
            with Gateway(Real(targets).upstream("t.1/1-session", NOTHING_VOLATILE)) as gateway:
                statuses.append([send(gateway, ask(api)).status for api in order])
                failures.append(gateway.failure)
                kinds = {one.kind for one in gateway.report().findings}

    assert statuses == [[404], [200, 404, 200]]
    assert isinstance(failures[0], ModelUnavailable)
    assert failures[1] is None
    assert "no_key" in kinds


def test_an_error_that_quotes_the_key_is_cleaned() -> None:
    """What a provider says of a key does not reach the agent."""
    said = canned({"error": {"message": f"Incorrect key {KEY}"}}, 418)
    redactor = Redactor([Secret(KEY)])
    with provider(said) as server, real(server.url) as upstream, Gateway(upstream, redactor=redactor) as gateway:
        response = send(gateway, ask(Api.CHAT))

    assert (response.status, KEY.encode() in response.body) == (418, False)


def test_without_a_key_the_session_fails_with_its_name() -> None:
    """Which variable to set."""
    upstream = Real(real_targets({"OPENAI_API_KEY": KEY})).upstream("t.1/1-session", NOTHING_VOLATILE)
    with Gateway(upstream) as gateway:
        assert send(gateway, ask(Api.MESSAGES)).status == 404

    assert gateway.failure is not None
    assert (gateway.failure.hint, "ANTHROPIC_API_KEY" in str(gateway.failure)) == ("Set ANTHROPIC_API_KEY.", True)


def test_a_server_of_ones_own_gets_no_providers_key() -> None:
    """`--upstream` serves every format, with a key of its own or none."""
    environ = {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY, "GEMINI_API_KEY": KEY}
    for own in ({}, {"TAKEOVER_UPSTREAM_KEY": "local-key-1234"}):
        with provider(canned(chat_answer())) as server:
            source = Source(upstream=f"{server.url}/v1/")
            with (
                open_supply(source, {**environ, **own}) as (supply, _),
                Gateway(supply.upstream("s", NOTHING_VOLATILE)) as gateway,
            ):
                for api in APIS:
                    send(gateway, ask(api))
            assert len(server.seen) == len(APIS)
            assert KEY not in str([seen.headers for seen in server.seen])
            sent = {seen.headers.get("authorization") for seen in server.seen}
            assert sent == ({"Bearer local-key-1234"} if own else {None})
            assert server.seen[0].path == "/v1/chat/completions"


def test_a_server_of_ones_own_is_told_the_cap_by_both_names() -> None:
    """Some know only `max_tokens`, and would go on without end; an agent's own lower one stays. OpenAI gets one name."""
    with provider(canned(chat_answer())) as server:
        for targets in (server_targets(server.url, {}), {"openai": Target(server.url, Secret(KEY), "KEY")}):
            upstream = Real(targets).upstream("t.1/1-session", NOTHING_VOLATILE)
            with Gateway(upstream, Settings(Pinned(output_cap=48))) as gateway:
                for more in ({}, {"max_tokens": 9}, {"max_completion_tokens": 99}):
                    send(gateway, ask(Api.CHAT, **more))
            upstream.close()
    caps = [(seen.json().get("max_tokens"), seen.json().get("max_completion_tokens")) for seen in server.seen]

    assert caps == [(48, 48), (9, None), (48, 48), (None, 48), (9, None), (None, 48)]


@pytest.mark.parametrize(
    "url",
    [
        "localhost:8000",
        "ftp://x",
        "http://",
        "http://u:p@x",
        "http://x/v1?key=1",
        "file:///etc/passwd",
        "http://models.example.com",
    ],
)
def test_wrong_upstreams(url: str) -> None:
    """No address, a password in it, or a key unencrypted over the internet."""
    with pytest.raises(InputError, match="--upstream"):
        server_targets(url, {"TAKEOVER_UPSTREAM_KEY": "local-key-1234"})


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1", "http://10.0.0.5", "http://vllm:8000", "http://[::1]:1", "https://models.example.com"]
)
def test_right_upstreams(url: str) -> None:
    """A key may go to this machine, to a private network, and anywhere encrypted."""
    assert server_targets(url, {"TAKEOVER_UPSTREAM_KEY": "local-key-1234"})["gemini"].base == url


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A private authority's certificate for 127.0.0.1, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert],
        check=True,
        capture_output=True,
    )  # fmt: skip
    return cert, key


def test_tls_is_verified_and_private_authorities_are_honoured(
    certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A certificate of nobody's is refused with what to do; SSL_CERT_FILE makes it somebody's."""
    cert, key = certificate
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    plain = gateway_kit.ThreadingHTTPServer

    class Wrapped(plain):  # type: ignore[valid-type, misc]
        def get_request(self):  # type: ignore[no-untyped-def]
            sock, address = super().get_request()
            sock.settimeout(5)
            return context.wrap_socket(sock, server_side=True), address

        def handle_error(self, *_: object) -> None:
            pass

    monkeypatch.setattr(gateway_kit, "ThreadingHTTPServer", Wrapped)
    with provider(streamed(b"data: x\n\n")) as server:
        url = server.url.replace("http://", "https://")
        failures = []
        for environ in ({}, {"SSL_CERT_FILE": str(cert)}):
            upstream = Real(server_targets(url, environ), trust(environ)).upstream("t.1/1-session", NOTHING_VOLATILE)
            with Gateway(upstream) as gateway:
                send(gateway, ask(Api.CHAT))
            failures.append(gateway.failure)
        assert len(server.seen) == 1

    assert isinstance(failures[0], ModelUnavailable)
    assert "SSL_CERT_FILE" in str(failures[0].hint)
    assert failures[1] is None


def test_wrong_certificates_are_told(tmp_path: Path) -> None:
    """A file that is not there, or holds none."""
    (tmp_path / "empty.pem").write_text("nothing")
    for name in ("missing.pem", "empty.pem"):
        with pytest.raises(InputError, match="SSL_CERT_FILE"):
            trust({"SSL_CERT_FILE": str(tmp_path / name)})


def test_sources_exclude_each_other(tmp_path: Path) -> None:
    """One of them answers."""
    for source in (
        Source(upstream="http://x", replay=tmp_path / "a"),
        Source(script=tmp_path / "a", replay=tmp_path / "b"),
        Source(replay=tmp_path / "a", record=tmp_path / "b"),
    ):
        with pytest.raises(InputError), open_supply(source, {}):
            pass


def test_a_key_with_line_ends_is_refused() -> None:
    """It would be a header of its own."""
    with pytest.raises(InputError, match="key"):
        real_targets({"OPENAI_API_KEY": "sk-1234567\r\nHost: evil"})


def test_large_bodies_pass() -> None:
    """A request with pictures, an answer of megabytes: in parts that frames can carry."""
    big = chat_answer("x" * 3_000_000)
    with provider(canned(big)) as server, real(server.url) as upstream, Gateway(upstream) as gateway:
        image = {
            "role": "user",
            "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 5_000_000}}],
        }
        response = send(gateway, post("/v1/chat/completions", {"model": "m-1", "messages": [image]}))
        assert len(server.seen[0].body) > 5_000_000

    assert response.json() == big
    assert len(response.parts) == 3
