"""An agent that attacks the gateway gets an answer in some shape, and never a crash, a hang, or another host's page."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from gateway_agent import HistoryAgent
from gateway_kit import (
    APIS,
    KEY,
    Fixed,
    ask,
    body_of,
    chat_answer,
    collect,
    path_of,
    post,
    provider,
    real,
    send,
    sse,
    streamed,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from takeover.sandbox.gateway.cassette import CassetteWriter
from takeover.sandbox.gateway.exchange import HttpRequest
from takeover.sandbox.gateway.gateway import Files, Gateway
from takeover.sandbox.gateway.recording import Recording
from takeover.sandbox.gateway.redaction import Redactor, Secret
from takeover.sandbox.gateway.routes import Api
from takeover.sandbox.gateway.script import Shell, turn
from takeover.sandbox.gateway.scripted import Scripted
from takeover.sandbox.gateway.settings import Pinned, Settings
from takeover.sandbox.gateway.volatile import NOTHING_VOLATILE
from takeover.sandbox.transcript.sniff import import_file

NAMES = st.sampled_from(
    ["model", "messages", "input", "contents", "tools", "function", "parts", "role", "content", "stream", "n", "max_tokens",
     "stream_options", "generationConfig", "maxOutputTokens", "thinking", "system", "type", "tool_calls", "arguments",
     "functionDeclarations", "tool_use_id", "call_id", "text", "x"]
)  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 10**20) | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["user", "assistant", "tool", "system", "message", "function_call", "text", "\ud800", ""]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=15,
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(APIS), st.dictionaries(NAMES, VALUES, max_size=8), st.booleans())
def test_any_body(api: Api, body: dict[str, Any], stream: bool) -> None:
    """JSON of any shape, with pins and a budget on: it is answered or refused."""
    request = post(path_of(api, stream=stream), json.dumps(body).encode())
    pins = Pinned(model="m-2", temperature=0.5, top_p=1.0, output_cap=100, server_tools="strip")
    with Gateway(Scripted([turn(Shell("ls"))]), Settings(pinned=pins)) as gateway:
        response = collect(gateway.handle(request))
        assert gateway.failure is None

    assert response.status in (200, 400, 404)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(NAMES, VALUES, max_size=8))
def test_any_body_leaves_a_transcript(body: dict[str, Any]) -> None:
    """Whatever is in a request, the transcript that is written of it can be read."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.json"
        with Gateway(Scripted([turn(Shell("ls"))]), files=Files(transcript=path)) as gateway:
            for api in APIS:
                collect(gateway.handle(post(path_of(api), {**body_of(api, "x", "s", ["bash"], False, "m"), **body})))
            assert gateway.failure is None
        import_file(path)


@settings(max_examples=100, deadline=None)
@given(
    st.text(max_size=20),
    st.text(max_size=60),
    st.lists(st.tuples(st.text(max_size=20), st.text(max_size=20)), max_size=5),
    st.binary(max_size=60),
)
def test_any_request(method: str, path: str, headers: list[tuple[str, str]], body: bytes) -> None:
    """Methods, paths and headers of any kind lead to a refusal."""
    with Gateway(Scripted([])) as gateway:
        response = collect(gateway.handle(HttpRequest(method, path, tuple(headers), body)))

    assert response.status in (400, 404, 426)


def test_bytes_that_are_no_text_reach_no_provider_header() -> None:
    """Odd header values of an agent do not break the request to the provider."""
    odd = (("user-agent", "é\udcff\x00"), ("accept", "a" * 9000), ("anthropic-beta", "ok"))
    asked = ask(Api.MESSAGES)
    with provider(streamed(*sse({}))) as server, real(server.url) as upstream, Gateway(upstream) as gateway:
        send(gateway, HttpRequest(asked.method, asked.path, odd, asked.body))
        seen = server.seen[0].headers

    assert seen["anthropic-beta"] == "ok"
    assert len(seen["accept"]) < 100


def test_a_key_is_in_no_artifact(tmp_path: Path) -> None:
    """A provider that quotes the key, an agent that knows it: it is in no file, no repr, no message, and not in HTTP's logs."""
    answer = chat_answer(f"Your key is {KEY}, in base64 too.")
    code = (
        "import logging, sys; logging.basicConfig(level=0, stream=sys.stdout)\n"
        f"sys.path[:0] = {[str(Path(__file__).parent)]!r}\n"
        "import test_hostile as t\n"
        "from pathlib import Path\n"
        f"t.leaky_session(Path({str(tmp_path)!r}))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "httpcore" in done.stdout, "the log was not on"
    said = (done.stdout + done.stderr).encode()
    files = [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()]

    assert len(files) == 3
    assert KEY in json.dumps(answer)
    assert not any(form in data for data in [said, *files] for form in FORMS)


FORMS = [KEY.encode(), KEY.encode().hex().encode(), KEY[:20].encode(), KEY[-20:].encode()]


def leaky_session(folder: Path) -> None:
    """A session in which everybody shouts the key, written to every kind of file."""
    redactor = Redactor([Secret(KEY)])
    answers = [chat_answer(f"Your key is {KEY}."), {"error": {"message": f"Incorrect API key provided: {KEY}"}}]
    canned = [streamed(json.dumps(one).encode(), status=200 + 218 * number) for number, one in enumerate(answers)]
    for one in canned:
        one.kind = "application/json"
    with provider(*canned) as server, real(server.url) as upstream:
        record = Recording(Fixed(upstream), CassetteWriter(folder / "c.jsonl", redactor))
        files = Files(folder / "transcript.json", folder / "calls.jsonl")
        with Gateway(record.upstream("s/1-session", NOTHING_VOLATILE), files=files, redactor=redactor) as gateway:
            agent = HistoryAgent(Api.CHAT, f"Use {KEY}.", system=KEY)
            agent.take(send(gateway, agent.request()))
            agent.say(f"Again: {KEY}")
            refused = send(gateway, agent.request())
            assert refused.status == 418
            assert KEY.encode() not in refused.body
            print(gateway.report(), gateway.failure, upstream, vars(upstream), record)
        record.close()
        assert all(seen.headers["authorization"] == f"Bearer {KEY}" for seen in server.seen)
