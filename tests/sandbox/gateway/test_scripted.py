"""The scripted model finds, in each agent's request, the tool that does what the script says."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from gateway_kit import APIS, ask, post, send

from takeover.sandbox.errors import InputError
from takeover.sandbox.gateway.dialect import Tool
from takeover.sandbox.gateway.gateway import Gateway
from takeover.sandbox.gateway.routes import Api
from takeover.sandbox.gateway.script import Edit, Finish, Read, Shell, Turn, Use, Write, turn
from takeover.sandbox.gateway.script_file import load_script
from takeover.sandbox.gateway.script_tools import call_for, in_shell, in_text
from takeover.sandbox.gateway.scripted import Scripted
from takeover.sandbox.gateway.volatile import NOTHING_VOLATILE


def tool(name: str, *required: str, **properties: Any) -> Tool:
    schema = {name: {"type": "string"} for name in required} | properties
    return Tool(name, {"type": "object", "properties": schema, "required": list(required)})


# What the agents offered when they were measured.
AGENTS = {
    "mini-swe-agent": [tool("bash", "command")],
    "codex": [tool("exec_command", "cmd"), tool("write_stdin", "session_id")],
    "claude-code": [
        tool("Bash", "command", description={"type": "string"}),
        tool("Edit", "file_path", "old_string", "new_string"),
        tool("Read", "file_path"),
        tool("Write", "file_path", "content"),
    ],
    "gemini-cli": [
        tool("read_file", "file_path"),
        tool("replace", "file_path", "instruction", "old_string", "new_string"),
        tool("write_file", "file_path", "content"),
        tool("run_shell_command", "command"),
    ],
    "opencode": [
        tool("bash", "command", "description"),
        tool("edit", "filePath", "oldString", "newString"),
        tool("read", "filePath"),
        tool("write", "filePath", "content"),
    ],
    "qwen-code": [
        tool("edit", "file_path", "old_string", "new_string"),
        tool("read_file", "absolute_path"),
        tool("run_shell_command", "command", "is_background", is_background={"type": "boolean"}),
        tool("write_file", "file_path", "content"),
    ],
    "openhands": [
        tool("terminal", "command", "security_risk", security_risk={"type": "string", "enum": ["LOW", "HIGH"]}),
        tool("file_editor", "command", "path", file_text={"type": "string"}, old_str={}, new_str={}),
        tool("finish", "message"),
    ],
}


@pytest.mark.parametrize(
    ("agent", "action", "name", "arguments"),
    [
        ("mini-swe-agent", Shell("ls"), "bash", {"command": "ls"}),
        ("codex", Shell("ls"), "exec_command", {"cmd": "ls"}),
        ("claude-code", Write("a.py", "x"), "Write", {"file_path": "/workspace/a.py", "content": "x"}),
        (
            "claude-code",
            Edit("a.py", "x", "y"),
            "Edit",
            {"file_path": "/workspace/a.py", "old_string": "x", "new_string": "y"},
        ),
        (
            "gemini-cli",
            Edit("a.py", "x", "y"),
            "replace",
            {
                "file_path": "/workspace/a.py",
                "old_string": "x",
                "new_string": "y",
                "instruction": "scripted instruction",
            },
        ),
        ("gemini-cli", Write("a.py", "x"), "write_file", {"file_path": "/workspace/a.py", "content": "x"}),
        ("opencode", Shell("ls"), "bash", {"command": "ls", "description": "scripted description"}),
        (
            "opencode",
            Edit("a.py", "x", "y"),
            "edit",
            {"filePath": "/workspace/a.py", "oldString": "x", "newString": "y"},
        ),
        ("qwen-code", Shell("ls"), "run_shell_command", {"command": "ls", "is_background": False}),
        ("qwen-code", Read("a.py"), "read_file", {"absolute_path": "/workspace/a.py"}),
        ("openhands", Shell("ls"), "terminal", {"command": "ls", "security_risk": "LOW"}),
        (
            "openhands",
            Write("a.py", "x"),
            "file_editor",
            {"command": "create", "path": "/workspace/a.py", "file_text": "x"},
        ),
        (
            "openhands",
            Edit("a.py", "x", "y"),
            "file_editor",
            {"command": "str_replace", "path": "/workspace/a.py", "old_str": "x", "new_str": "y"},
        ),
        ("openhands", Read("a.py"), "file_editor", {"command": "view", "path": "/workspace/a.py"}),
        ("openhands", Finish("ok"), "finish", {"message": "ok"}),
        ("codex", Use("write_stdin", {"session_id": "1"}), "write_stdin", {"session_id": "1"}),
    ],
)
def test_tools_of_the_agents(agent: str, action: Any, name: str, arguments: dict[str, Any]) -> None:
    """Each action becomes the call that this agent understands, with all that its schema requires."""
    assert call_for(action, AGENTS[agent], "/workspace", "") == (name, arguments)


def test_how_mini_and_others_end() -> None:
    """mini-swe-agent ends by a command, others by a plain answer."""
    prompt = "When done run `echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT`."

    assert call_for(Finish(), AGENTS["mini-swe-agent"], "/w", prompt) == (
        "bash",
        {"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"},
    )
    assert call_for(Finish("That is all."), AGENTS["claude-code"], "/w", "") == "That is all."


def test_an_old_shell_takes_a_list() -> None:
    """A command that is an array in the schema comes as one."""
    shell = tool("shell", "command", command={"type": "array", "items": {"type": "string"}})

    assert call_for(Shell("ls"), [shell], "/w", "") == ("shell", {"command": ["bash", "-lc", "ls"]})


@pytest.mark.parametrize(
    ("action", "content"),
    [
        (Write("new/it's.py", "a = 'x'\n$HOME `id`\n"), "a = 'x'\n$HOME `id`\n"),
        (Write("no end.py", "a = 1"), "a = 1"),
        (Write("eof.py", "a\nEOF\nb\n"), "a\nEOF\nb\n"),
        (Edit("old.py", "x = '1'\n", 'x = "2"\n'), 'x = "2"\ny = 1\n'),
    ],
)
def test_in_a_shell(action: Any, content: str, tmp_path: Path) -> None:
    """With nothing but a shell, files come out as the script says."""
    (tmp_path / "old.py").write_text("x = '1'\ny = 1\n")
    subprocess.run(["bash", "-c", in_shell(action)], cwd=tmp_path, check=True)

    assert (tmp_path / action.path).read_text() == content


def test_text_edits_of_aider() -> None:
    """Blocks of SEARCH and REPLACE, or whole files, as the prompt asks."""
    shown = "a.py\n```python\nx = 1\ny = 2\n```\n"

    assert in_text(Edit("a.py", "x = 1", "x = 3"), "All edits as a *SEARCH/REPLACE block*.") == (
        "a.py\n```\n<<<<<<< SEARCH\nx = 1\n=======\nx = 3\n>>>>>>> REPLACE\n```"
    )
    assert (
        in_text(Edit("a.py", "x = 1", "x = 3"), f"Return a *file listing*.\n{shown}") == "a.py\n```\nx = 3\ny = 2\n```"
    )
    assert in_text(Shell("ls"), "Use one ```mswea_bash_command block") == "```mswea_bash_command\nls\n```"
    assert in_text(Edit("a.py", "x", "y"), "You are a helpful assistant.") is None


@pytest.mark.parametrize("api", APIS)
def test_turns_and_side_requests(api: Api) -> None:
    """A request without tools takes no turn; the same request again gets the same answer."""
    with Gateway(Scripted([turn(Shell("one")), turn(Shell("two"))])) as gateway:
        title = send(gateway, ask(api, "title?", tools=()))
        first = send(gateway, ask(api, "a"))
        again = send(gateway, ask(api, "a"))
        second = send(gateway, ask(api, "b"))
        last = send(gateway, ask(api, "c"))

    assert b"A scripted session" in title.body
    assert b"one" in first.body
    assert b"one" in again.body
    assert b"two" in second.body
    assert b"Done." in last.body


def test_aiders_request_is_a_turn() -> None:
    """It offers no tools, and asks for edits as text."""
    script = Scripted([turn(Edit("a.py", "x", "y"), say="So:")])
    request = ask(Api.CHAT, system="Use *SEARCH/REPLACE* blocks.", tools=(), stream=True)
    with Gateway(script) as gateway:
        body = send(gateway, request).body.decode()

    assert "REPLACE" in "".join(
        json.loads(line[6:])["choices"][0]["delta"].get("content") or ""
        for line in body.split("\n\n")
        if line.startswith("data: {")
    )


def test_a_router_gets_what_its_schema_asks_for() -> None:
    """A side request with a schema is answered with JSON that fits it."""
    schema = {
        "type": "object",
        "required": ["choice", "n"],
        "properties": {"choice": {"enum": ["flash", "pro"]}, "n": {"type": "integer"}},
    }
    body = {
        "contents": [{"role": "user", "parts": [{"text": "which?"}]}],
        "generationConfig": {"responseJsonSchema": schema},
    }
    with Gateway(Scripted([])) as gateway:
        answer = send(gateway, post("/v1beta/models/g:generateContent", body)).json()

    assert json.loads("".join(part["text"] for part in answer["candidates"][0]["content"]["parts"])) == {
        "choice": "flash",
        "n": 0,
    }


def test_a_script_file(tmp_path: Path) -> None:
    """Sessions by their number, turns with what they say and do."""
    path = tmp_path / "script.yaml"
    path.write_text(
        "schema_version: 1\n"
        "sessions:\n"
        "  - [{say: Hi., write: {path: a.py, content: x}}, {shell: ls, usage: none}]\n"
        "  - [{finish: Bye., usage: {prompt: 5, completion: 6}}]\n"
    )
    supply = load_script(path)
    first, second = (supply.upstream(f"t.a.b.1/{n}-session", NOTHING_VOLATILE) for n in (1, 2))

    assert first._turns[0] == Turn("Hi.", (Write("a.py", "x"),))
    assert not first._turns[1].tells_usage
    assert [turn.actions for turn in second._turns] == [(Finish("Bye."),)]
    assert supply.upstream("t.a.b.1/9-session", NOTHING_VOLATILE)._turns == second._turns


@pytest.mark.parametrize(
    "text", ["sessions: []", "schema_version: 1\nsessions: [[{sya: x}]]", "[", "schema_version: 2\nsessions: []"]
)
def test_a_wrong_script_is_refused(text: str, tmp_path: Path) -> None:
    """With its file and its field."""
    path = tmp_path / "script.yaml"
    path.write_text(text)

    with pytest.raises(InputError, match=r"script\.yaml"):
        load_script(path)
