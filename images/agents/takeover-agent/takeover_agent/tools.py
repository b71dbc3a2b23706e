"""What the agent can do: shell, read, write, edit; and finish, which the loop itself understands."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .loop import Call, Result
from .shell import run_shell

# What one result may hold: the model reads all of it again with every further call.
MOST_CHARACTERS = 16_000
LONGEST_COMMAND = 600


class ToolError(Exception):
    """A call that cannot be carried out, in words for the model."""


@dataclass(frozen=True)
class Tool:
    """A tool as every wire format describes it: a name, a sentence, and a JSON Schema of flat arguments."""

    name: str
    description: str
    schema: Mapping[str, Any]


def _tool(name: str, description: str, required: Mapping[str, str], optional: Mapping[str, str] | None = None) -> Tool:
    """All arguments are text, but for those whose description begins with `Number`."""
    properties = {
        key: {"type": "integer" if text.startswith("Number") else "string", "description": text}
        for key, text in {**required, **(optional or {})}.items()
    }
    schema = {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
    return Tool(name, description, schema)


TOOLS = (
    _tool(
        "shell",
        "Run a command with bash in the workspace and see its output and exit code.",
        {"command": "The command."},
        {"timeout": f"Number of seconds after which it is ended; 120 if not given, at most {LONGEST_COMMAND}."},
    ),
    _tool(
        "read",
        "Read a text file.",
        {"path": "The file, relative to the workspace or absolute."},
        {"offset": "Number of the first line, from 1.", "limit": "Number of lines at most."},
    ),
    _tool(
        "write",
        "Write a whole file; folders that are missing are made.",
        {"path": "The file.", "content": "All of its text."},
    ),
    _tool(
        "edit",
        "Replace a text that occurs exactly once in a file.",
        {"path": "The file.", "old": "The text as it is, with enough around it to occur once.", "new": "The new text."},
    ),
    _tool("finish", "Say that the work is done.", {"summary": "What was done, and what was not."}),
)
BY_NAME = {tool.name: tool for tool in TOOLS}


class Toolbox:
    """The tools, at work in a folder."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._doers: dict[str, Callable[..., str]] = {
            "shell": self._shell,
            "read": self._read,
            "write": self._write,
            "edit": self._edit,
        }

    def run(self, call: Call) -> Result:
        """Carry out a call. Whatever goes wrong is in the result."""
        try:
            doer = self._doers.get(call.name)
            if doer is None:
                raise ToolError(f"there is no tool {call.name!r}; the tools are {', '.join(BY_NAME)}")
            return Result(call, capped(doer(**_arguments(call))))
        except ToolError as error:
            return Result(call, f"error: {error}", is_error=True)
        except (OSError, ValueError) as error:  # a path with a null byte in it is a ValueError
            return Result(call, f"error: {capped(str(error))}", is_error=True)

    def _shell(self, command: str, timeout: int = 120) -> str:
        ran = run_shell(command, self._workspace, min(max(timeout, 1), LONGEST_COMMAND), MOST_CHARACTERS - 200)
        return f"{ran.output}\n[{ran.end}]"

    def _read(self, path: str, offset: int = 1, limit: int = 2000) -> str:
        lines = self._text(path).splitlines(keepends=True)
        first = max(offset, 1) - 1
        shown = lines[first : first + max(limit, 1)]
        left = len(lines) - first - len(shown)
        more = f"[{left} more lines; the next one is {first + len(shown) + 1}]" if left > 0 else ""
        return "".join(shown) + more or "[nothing there]"

    def _write(self, path: str, content: str) -> str:
        target = self._workspace / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content, encoding="utf-8", newline="")
        return f"wrote {path}: {len(content)} characters"

    def _edit(self, path: str, old: str, new: str) -> str:
        text = self._text(path)
        found = text.count(old) if old else 0
        if found != 1:
            raise ToolError(f"the text to replace occurs {found} times in {path}, not once; nothing was changed")
        (self._workspace / path).write_text(text.replace(old, new), encoding="utf-8", newline="")
        return f"edited {path}"

    def _text(self, path: str) -> str:
        try:
            return (self._workspace / path).read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            raise ToolError(f"{path} is no text") from None


def _arguments(call: Call) -> dict[str, Any]:
    """The arguments of a call, held to the tool's schema. Raises ToolError."""
    try:
        given = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError) as error:
        raise ToolError(f"the arguments are no JSON: {error}") from None
    if not isinstance(given, dict):
        raise ToolError("the arguments are no JSON object")
    schema = BY_NAME[call.name].schema
    properties, required = schema["properties"], schema["required"]
    wrong = [f"{name} is missing" for name in required if name not in given]
    wrong += [f"{name!r} is unknown" for name in given if name not in properties]
    for name, value in given.items():
        kind = properties.get(name, {}).get("type")
        if (kind == "string" and not isinstance(value, str)) or (kind == "integer" and type(value) is not int):
            wrong.append(f"{name} is no {kind}")
    if wrong:
        raise ToolError(f"{call.name} takes {', '.join(properties)}: {'; '.join(wrong)}")
    return given


def capped(text: str, most: int = MOST_CHARACTERS) -> str:
    """Beginning and end of a text that is too long."""
    if len(text) <= most:
        return text
    return f"{text[: most // 2]}\n[... {len(text) - most} characters are left out ...]\n{text[-(most // 2) :]}"
