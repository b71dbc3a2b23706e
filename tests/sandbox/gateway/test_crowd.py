"""Many sessions at once starve nobody: no lock of ours, no pool and no log stands between one session's calls and another's."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from gateway_kit import KEY, ask, chat_answer, send, serving

from takeover.sandbox.gateway.budget import Budget, Limits
from takeover.sandbox.gateway.gateway import Files, Gateway
from takeover.sandbox.gateway.real import Real
from takeover.sandbox.gateway.redaction import Secret
from takeover.sandbox.gateway.routes import Api
from takeover.sandbox.gateway.targets import Target
from takeover.sandbox.gateway.volatile import NOTHING_VOLATILE

SESSIONS, CALLS = 100, 3


def test_a_hundred_sessions_stand_in_the_provider_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The calls of a hundred sessions are all at the provider before any is answered, again and again; each session
    gets its own answers, its own files, and its share of the run's one budget."""
    together = threading.Barrier(SESSIONS, timeout=120)
    # The provider's own queue is not what is tried here.
    monkeypatch.setattr(ThreadingHTTPServer, "request_queue_size", 2 * SESSIONS)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            # Broken, and so an error to every session, if one of them is kept from calling until another is served.
            together.wait()
            data = json.dumps(chat_answer(body["messages"][-1]["content"])).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    run = Budget("run", Limits(calls=SESSIONS * CALLS))
    with serving(Handler) as url:
        supply = Real({"openai": Target(url, Secret(KEY), "KEY")})

        def session(number: int) -> list[str]:
            scope = f"t.{number}/1-session"
            files = Files(tmp_path / f"{number}.json", tmp_path / f"{number}.jsonl")
            upstream = supply.upstream(scope, NOTHING_VOLATILE)
            budget = Budget("trial", Limits(calls=CALLS), within=run)
            with Gateway(upstream, files=files, session_id=scope, budget=budget) as gateway:
                got = [send(gateway, ask(Api.CHAT, f"{number}:{call}")) for call in range(CALLS)]
            assert [one.status for one in got] == [200] * CALLS, got[0].body
            return [one.json()["choices"][0]["message"]["content"] for one in got]

        with ThreadPoolExecutor(SESSIONS) as pool:
            told = list(pool.map(session, range(SESSIONS)))

    assert told == [[f"{number}:{call}" for call in range(CALLS)] for number in range(SESSIONS)]
    assert run.spent.calls == SESSIONS * CALLS
    for number in range(SESSIONS):
        written = [json.loads(line) for line in (tmp_path / f"{number}.jsonl").read_bytes().splitlines()]
        assert len(written) == CALLS
        assert all(f"{number}:{call}" in (tmp_path / f"{number}.json").read_text() for call in range(CALLS))
