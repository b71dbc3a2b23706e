"""How much later an answer comes through the gateway than straight from the server. Run by hand: it is no test.

`python tests/sandbox/gateway/measure_gateway.py [calls]`: a server in a process of its own on 127.0.0.1 answers Chat
requests of 80 KB; direct calls and calls through the gateway take turns, so that both see the same load.
"""

from __future__ import annotations

import json
import multiprocessing
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).parent))

from gateway_kit import canned, chat_answer, chat_chunk, provider, real, sse, streamed

from takeover.sandbox.gateway.budget import Budget, Limits
from takeover.sandbox.gateway.exchange import HttpRequest
from takeover.sandbox.gateway.gateway import Files, Gateway
from takeover.sandbox.gateway.settings import Pinned, Settings
from takeover.sandbox.gateway.upstream import Upstream

EVENTS = [chat_chunk("a few words ") for _ in range(60)]
USAGE = {"choices": [], "usage": {"prompt_tokens": 20_000, "completion_tokens": 240}}


def serve(kind: str, tell: Any) -> None:
    """Answer until killed."""
    answer = (
        canned(chat_answer()) if kind == "whole" else streamed(*sse(*EVENTS, chat_chunk(None, "stop"), USAGE, "[DONE]"))
    )
    with provider(answer) as server:
        tell.send(server.url)
        time.sleep(3600)


def request(number: int, stream: bool) -> HttpRequest:
    """80 KB, as an agent's request after a few turns: tools with schemas, a long prompt, some history."""
    text = 'Some text of a prompt or of a file, with "quotes", back\\slashes and lines.\n'
    tools = [
        {"type": "function", "function": {"name": f"tool_{n}", "description": text * 10, "parameters": {"type": "object", "properties": {
            name: {"type": "string", "description": text} for name in "abcd"}}}} for n in range(12)
    ]  # fmt: skip
    messages: list[Any] = [{"role": "system", "content": text * 300}, {"role": "user", "content": text * 100}]
    for turn in range(10):
        call = {
            "id": f"c{turn}",
            "type": "function",
            "function": {"name": "tool_1", "arguments": json.dumps({"a": text})},
        }
        messages.append({"role": "assistant", "content": "I go on.", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{turn}", "content": text * 30})
    messages.append({"role": "user", "content": f"Now number {number}."})
    body = {
        "model": "m-1",
        "messages": messages,
        "tools": tools,
        "temperature": 1,
        **({"stream": True} if stream else {}),
    }
    return HttpRequest(
        "POST", "/v1/chat/completions", (("content-type", "application/json"),), json.dumps(body).encode()
    )


def direct(client: httpx.Client, url: str, asked: HttpRequest) -> tuple[float, float]:
    """Seconds to the first byte of the body, and to the last."""
    begun, first = time.perf_counter(), 0.0
    with client.stream("POST", url + asked.path, content=asked.body, headers=dict(asked.headers)) as response:
        for _ in response.iter_bytes():
            first = first or time.perf_counter() - begun
    return first, time.perf_counter() - begun


def through(gateway: Gateway, asked: HttpRequest) -> tuple[float, float]:
    """The same, through the gateway."""
    begun, first = time.perf_counter(), 0.0
    for part in gateway.handle(asked):
        if part.body:
            first = first or time.perf_counter() - begun
    return first, time.perf_counter() - begun


def compare(kind: str, calls: int, upstream: Upstream, url: str, folder: Path) -> None:
    """Take turns, and print what the gateway adds (milliseconds)."""
    settings = Settings(pinned=Pinned(model="m-1", temperature=0.0))
    budget = Budget("run", Limits(tokens=10**9, calls=10**6))
    files = Files(folder / f"{kind}.json", folder / f"{kind}.jsonl")
    rows = []
    with httpx.Client() as client, Gateway(upstream, settings, files=files, budget=budget) as gateway:
        for number in range(calls + 5):
            asked = request(number, kind == "stream")
            rows.append((direct(client, url, asked), through(gateway, asked)))
        assert gateway.report().totals.answers == calls + 5
    rows = rows[5:]
    for place, name in ((0, "first byte"), (1, "last byte")):
        plain, ours = ([1000 * row[way][place] for row in rows] for way in (0, 1))
        added = statistics.median(ours) - statistics.median(plain)
        print(
            f"{kind:7} {name:10}  direct p50 {statistics.median(plain):6.2f}  gateway p50 {statistics.median(ours):6.2f}"
            f"  added {added:5.2f}  p90 direct {statistics.quantiles(plain, n=10)[8]:6.2f} gateway {statistics.quantiles(ours, n=10)[8]:6.2f}"
        )


def main() -> None:
    """Both kinds."""
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    print(f"{len(request(0, False).body) / 1000:.0f} KB a request, {calls} calls each, milliseconds")
    for kind in ("whole", "stream"):
        mine, theirs = multiprocessing.Pipe()
        server = multiprocessing.get_context("spawn").Process(target=serve, args=(kind, theirs), daemon=True)
        server.start()
        url = mine.recv()
        with real(url) as upstream, tempfile.TemporaryDirectory() as folder:
            compare(kind, calls, upstream, url, Path(folder))
        server.kill()
        server.join()


if __name__ == "__main__":
    main()
