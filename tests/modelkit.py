"""Small runs with a model: an agent that talks HTTP from inside a real sandbox, and scripts for it."""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from trialruns import TASK, Silent

from takeover.sandbox.engine import DockerEngine
from takeover.tiers.arms import load_arm
from takeover.tiers.load import load_task
from takeover.trials.agents import Agent
from takeover.trials.model import ModelSettings
from takeover.trials.model_supply import open_models
from takeover.trials.plan import Plan, Settings, make_plan
from takeover.trials.record import RunPaths
from takeover.trials.running import RunResult, execute
from takeover.trials.signing import Signer

# A whole agent: it sends its history, runs the commands that come back, and ends when none do or the model is gone.
SOURCE = """
import json, os, subprocess, sys, urllib.error, urllib.request
tool = {"type": "function", "function": {"name": "bash", "description": "Run a command.", "parameters": {
    "type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}}}
messages = [{"role": "user", "content": os.environ["TAKEOVER_PROMPT"]}]
while True:
    body = {"model": os.environ.get("TAKEOVER_MODEL", "takeover-model"), "messages": messages, "tools": [tool]}
    request = urllib.request.Request("http://127.0.0.1:4000/v1/chat/completions", json.dumps(body).encode(),
        {"content-type": "application/json", "authorization": "Bearer none"})
    try:
        with urllib.request.urlopen(request, timeout=300) as response:
            message = json.load(response)["choices"][0]["message"]
    except urllib.error.HTTPError as error:
        print("status", error.code, error.read().decode(), flush=True)
        sys.exit(5)
    print(message.get("content"), flush=True)
    messages.append(message)
    if not message.get("tool_calls"):
        break
    for call in message["tool_calls"]:
        command = json.loads(call["function"]["arguments"])["command"]
        done = subprocess.run(["sh", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": done.stdout + str(done.returncode)})
"""


def http_agent(name: str = "http", source: str = SOURCE) -> Agent:
    """The agent above, or another that is a Python program."""
    return Agent(name=name, image="sandbox", command=("python3", "-c", source))


def script_file(path: Path, *sessions: Sequence[dict[str, Any]]) -> Path:
    """A script in a file."""
    path.write_text(yaml.safe_dump({"schema_version": 1, "sessions": [list(turns) for turns in sessions]}))
    return path


def model_plan(model: ModelSettings, *agents: Agent, arm: str = "State_MD_Only", **settings: Any) -> Plan:
    """The plan of a small run with a model."""
    task = load_task(TASK, "0")
    made = Settings(model=model, **settings)
    return make_plan([(task, load_arm(arm, task))], list(agents or [http_agent()]), settings=made)


def run_model(
    engine: DockerEngine, folder: Path, plan: Plan, key: Signer, *, resume: bool = False, parallel: int = 2
) -> RunResult:
    """Carry it out."""
    return execute(
        plan,
        engine=engine,
        paths=RunPaths(folder),
        signer=key,
        resume=resume,
        parallel=parallel,
        progress=Silent(),
        open_models=open_models,
    )


Respond = Callable[[dict[str, Any], dict[str, str]], tuple[int, Any]]


def commands(*lines: str, say: str = "So.", usage: bool = True) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """A Chat answer that has the next of these commands run; after the last one nothing is called."""

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        turn = sum(message["role"] == "assistant" for message in request["messages"])
        message: dict[str, Any] = {"role": "assistant", "content": say}
        if turn < len(lines):
            call = {"name": "bash", "arguments": json.dumps({"command": lines[turn]})}
            message["tool_calls"] = [{"id": f"call_{turn}", "type": "function", "function": call}]
        end = "tool_calls" if turn < len(lines) else "stop"
        whole = {"id": f"c{turn}", "object": "chat.completion", "created": 1, "model": request["model"]}
        counts = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        choice = {"index": 0, "message": message, "finish_reason": end}
        return {**whole, "choices": [choice], **({"usage": counts} if usage else {})}

    return answer


@contextlib.contextmanager
def serving(respond: Respond) -> Iterator[str]:
    """A server of models; `respond` gets request and headers, and gives a status and a document."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            status, document = respond(request, {name.lower(): value for name, value in self.headers.items()})
            data = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
