"""Turns a scripted action into a call of whichever tool a request offers, or into text where it offers none."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final

from .dialect import Tool
from .script import Action, Edit, Finish, Read, Shell, Use, Write

_SHELLS: Final = (
    "bash", "shell", "exec_command", "run_shell_command", "terminal", "execute_bash", "run_command", "shell_command",
    "container.exec",
)  # fmt: skip
_WRITERS: Final = ("write", "write_file", "create_file")
_EDITORS: Final = ("edit", "edit_file", "replace", "str_replace")
_READERS: Final = ("read", "read_file", "view")
_MANY: Final = ("file_editor", "str_replace_editor", "str_replace_based_edit_tool")
_FINISHERS: Final = ("finish", "attempt_completion", "submit")

_COMMAND: Final = ("command", "cmd", "script")
_PATH: Final = ("file_path", "path", "filePath", "absolute_path", "filename", "file")
_CONTENT: Final = ("content", "file_text", "contents", "text")
_OLD: Final = ("old_string", "old_str", "oldString", "old", "search")
_NEW: Final = ("new_string", "new_str", "newString", "new", "replace")
_MESSAGE: Final = ("message", "result", "summary", "text", "answer")
# mini-swe-agent ends when a command prints this first.
SUBMIT: Final = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


def call_for(action: Action, tools: Sequence[Tool], root: str, prompt: str) -> tuple[str, dict[str, Any]] | str:
    """The tool and its arguments; text where no tool on offer can do it."""
    if isinstance(action, Use):
        return action.name, dict(action.arguments)
    if isinstance(action, Finish):
        return _finish(action, tools, prompt)
    direct = None
    match action:
        case Write(path, content):
            where = posixpath.join(root, path)
            direct = _call(tools, _WRITERS, {_PATH: where, _CONTENT: content}) or _call(
                tools, _MANY, {("command",): "create", _PATH: where, _CONTENT: content}
            )
        case Edit(path, old, new):
            where = posixpath.join(root, path)
            direct = _call(tools, _EDITORS, {_PATH: where, _OLD: old, _NEW: new}) or _call(
                tools, _MANY, {("command",): "str_replace", _PATH: where, _OLD: old, _NEW: new}
            )
        case Read(path):
            where = posixpath.join(root, path)
            direct = _call(tools, _READERS, {_PATH: where}) or _call(tools, _MANY, {("command",): "view", _PATH: where})
        case Shell():
            pass
    return direct or _call(tools, _SHELLS, {_COMMAND: in_shell(action)}) or _as_text(action)


def in_shell(action: Action) -> str:
    """An action as a shell command, run in the workspace."""
    match action:
        case Shell(command):
            return command
        case Read(path):
            return f"cat {shlex.quote(path)}"
        case Write(path, content):
            target = shlex.quote(path)
            folder = posixpath.dirname(path)
            make = f"mkdir -p {shlex.quote(folder)} && " if folder else ""
            if content.endswith("\n") and "\nEOF\n" not in f"\n{content}":
                return f"{make}cat > {target} <<'EOF'\n{content}EOF"
            return f"{make}printf %s {shlex.quote(content)} > {target}"
        case Edit(path, old, new):
            return (
                "python3 - <<'EOF'\n"
                "from pathlib import Path\n"
                f"path, old, new = Path({path!r}), {old!r}, {new!r}\n"
                "text = path.read_text()\n"
                "assert text.count(old) == 1, 'the text to replace must occur once'\n"
                "path.write_text(text.replace(old, new))\n"
                "EOF"
            )
        case _:
            raise ValueError(f"{action!r} is nothing for a shell")


def in_text(action: Action, prompt: str) -> str | None:
    """An action in the text format that a prompt asks for; None if it asks for none.

    aider takes blocks of SEARCH and REPLACE, or whole files; mini-swe-agent's text models take one fenced command.
    """
    if "mswea_bash_command" in prompt:
        command = f"echo {SUBMIT}" if isinstance(action, Finish) else None
        if command is None and not isinstance(action, Use):
            command = in_shell(action)
        return f"```mswea_bash_command\n{command}\n```" if command is not None else None
    if "SEARCH/REPLACE" in prompt:
        match action:
            case Edit(path, old, new):
                return _block(path, old, new)
            case Write(path, content):
                return _block(path, "", content)
    elif "file listing" in prompt:
        match action:
            case Write(path, content):
                return f"{path}\n```\n{_ended(content)}```"
            case Edit(path, old, new):
                return f"{path}\n```\n{_ended(_shown_file(path, prompt).replace(old, new, 1))}```"
    return None


def asks_for_text_edits(prompt: str) -> bool:
    """Whether edits are to be written as text, so that a request without tools is a turn all the same."""
    return any(mark in prompt for mark in ("mswea_bash_command", "SEARCH/REPLACE", "file listing"))


def filled(schema: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments with everything that the schema requires besides."""
    properties = schema.get("properties")
    made = dict(given)
    required = schema.get("required")
    for name in required if isinstance(required, list) else []:
        if isinstance(name, str) and name not in made:
            made[name] = _some(name, properties.get(name) if isinstance(properties, dict) else None)
    return made


def _finish(action: Finish, tools: Sequence[Tool], prompt: str) -> tuple[str, dict[str, Any]] | str:
    called = _call(tools, _FINISHERS, {_MESSAGE: action.text})
    if called is None and SUBMIT in prompt:
        called = _call(tools, _SHELLS, {_COMMAND: f"echo {SUBMIT}"})
    return called or action.text


def _call(
    tools: Sequence[Tool], names: Sequence[str], values: Mapping[tuple[str, ...], str]
) -> tuple[str, dict[str, Any]] | None:
    tool = next((tool for name in names for tool in tools if tool.name.lower() == name and not tool.server), None)
    if tool is None:
        return None
    properties = tool.schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    arguments: dict[str, Any] = {}
    for synonyms, value in values.items():
        name = next((name for name in synonyms if name in known), None)
        if name is None and known:
            return None
        name = name or synonyms[0]
        listed = isinstance(known.get(name), dict) and known[name].get("type") == "array"
        arguments[name] = ["bash", "-lc", value] if listed else value
    return tool.name, filled(tool.schema, arguments)


def _some(name: str, schema: Any) -> Any:
    """A value that a schema allows."""
    schema = schema if isinstance(schema, dict) else {}
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return schema["enum"][0]
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    match kind.lower() if isinstance(kind, str) else "string":
        case "boolean":
            return False
        case "integer" | "number":
            return schema.get("minimum", 0)
        case "array":
            return []
        case "object":
            return filled(schema, {})
        case _:
            return f"scripted {name.replace('_', ' ')}"


def _as_text(action: Action) -> str:
    return f"```bash\n{in_shell(action)}\n```"


def _block(path: str, old: str, new: str) -> str:
    return f"{path}\n```\n<<<<<<< SEARCH\n{_ended(old)}=======\n{_ended(new)}>>>>>>> REPLACE\n```"


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"


def _shown_file(path: str, prompt: str) -> str:
    """A file as the prompt shows it."""
    found = re.findall(rf"^{re.escape(path)}\n(`{{3,}})[a-z]*\n(.*?)^\1", prompt, re.DOTALL | re.MULTILINE)
    return str(found[-1][1]) if found else ""
