"""What SWE-agent's window shows and its edit commands change: the command names little, the observation's header the rest."""

from __future__ import annotations

import re
from typing import Any

from .shell import parse_script
from .spans import Found, edit, line_count, locate, numbered_lines, view
from .structured import tool_spans

_HEADER = re.compile(r"\[File: (.{1,4096}?) \((\d{1,8}) lines total\)\]")
_EDIT_LINES = re.compile(r"edit\s+(\d{1,8}):(\d{1,8})[^\n]*\n(.*?)\n?end_of_edit", re.DOTALL)
_WINDOWED = ("open", "goto", "scroll_up", "scroll_down", "create", "edit", "insert")
_OPTIONS = {"--view_range": 2, "--file_text": 1, "--old_str": 1, "--new_str": 1, "--insert_line": 1}
NAMES = frozenset((*_WINDOWED, "str_replace_editor", "search_file"))


def windowed_spans(name: str, command: str, observation: str, open_file: str | None) -> list[Found]:
    """Spans of one command of SWE-agent's tools, given what it printed."""
    observation = observation.replace("\r\n", "\n")
    if name == "str_replace_editor":
        return tool_spans(name, _editor_arguments(command), observation, None)
    if name == "search_file":
        words = _words(command)
        path = words[2] if len(words) > 2 else open_file
        return [view(path)] if path else []
    header = _HEADER.search(observation)
    path = header.group(1) if header else None
    if path is None:
        return []
    shown = numbered_lines(observation[header.end() :] if header else "")
    if name in ("open", "goto", "scroll_up", "scroll_down"):
        return [view(path, shown[0][0], shown[-1][0])] if shown else [view(path)]
    if name == "create":
        return [edit(path, 1, 1)]
    return _edited(path, name, command, shown)


def _edited(path: str, name: str, command: str, shown: list[tuple[int, str]]) -> list[Found]:
    """The lines that an edit put in place, and the window it shows afterwards, which the agent sees."""
    window = [view(path, shown[0][0], shown[-1][0])] if shown else []
    by_lines = _EDIT_LINES.match(command)
    if by_lines:
        start, text = int(by_lines.group(1)), by_lines.group(3)
        return [edit(path, start, start + line_count(text) - 1), *window]
    words = _words(command)
    text = words[2] if name == "edit" and len(words) > 2 else words[1] if name == "insert" and len(words) > 1 else ""
    found = locate(shown, text)
    return [edit(path, *found) if found else edit(path), *window]


def _words(command: str) -> list[str]:
    parsed = parse_script(command)
    return [word.text for word in parsed[0].words] if parsed else []


def _editor_arguments(command: str) -> dict[str, Any]:
    """The arguments of `str_replace_editor COMMAND PATH --option value ...` as the tool itself would name them."""
    words = _words(command)
    arguments: dict[str, Any] = {"command": words[1] if len(words) > 1 else ""}
    if len(words) > 2:
        arguments["path"] = words[2]
    index = 3
    while index < len(words):
        count = _OPTIONS.get(words[index], 0)
        values = words[index + 1 : index + 1 + count]
        name = words[index].lstrip("-")
        if name == "view_range" and all(re.fullmatch(r"-?\d{1,8}", value) for value in values) and len(values) == 2:
            arguments[name] = [int(value) for value in values]
        elif name == "insert_line" and values and re.fullmatch(r"\d{1,8}", values[0]):
            arguments[name] = int(values[0])
        elif count == 1 and values:
            arguments[name] = values[0]
        index += 1 + count
    return arguments
