"""What the agents' own tools look at and change: readers, editors, writers, patches, searches, by their arguments.

Lines come from the best source there is: what the agent's log noted beside the result, else the numbered lines that the
tool printed, else the arguments.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .patch import parse_patch
from .python_spans import python_spans
from .spans import Found, edit, line_count, locate, numbered_lines, pairs, view

EDITORS = frozenset(["str_replace_editor", "str_replace_based_edit_tool", "file_editor", "text_editor", "edit"])
_READERS = frozenset(["read", "read_file", "view", "view_file", "open_file", "readfile", "read_text_file"])
_WRITERS = frozenset(["write", "write_file", "create_file", "create", "write_text_file"])
_REPLACERS = frozenset(["edit", "multiedit", "replace", "edit_file", "str_replace", "search_replace", "notebookedit"])
_SEARCHERS = frozenset(["grep", "grep_search", "search_file_content", "search_file", "search"])
_PATCHERS = frozenset(["apply_patch", "applypatch", "patch"])
_PYTHONS = frozenset(["run_ipython", "ipython", "python", "execute_ipython_cell"])
_PATHS = (
    "file_path",
    "path",
    "filePath",
    "absolute_path",
    "notebook_path",
    "filename",
    "file",
    "target_file",
    "dir_path",
)
_NEW = ("new_string", "new_str", "newString", "replace", "new_text", "new_source")
_TEXTS = ("content", "file_text", "contents", "text")
_LISTING = ("Here's the files and directories", "Here are the files and directories", "Directory: ")


def tool_spans(name: str, arguments: dict[str, Any], answer: str, noted: Any) -> list[Found]:
    """Spans of one call that is not a shell's; `answer` is its result's text, `noted` the lines its log knew."""
    lowered = name.lower()
    if lowered in _PATCHERS:
        return _patch(arguments)
    if lowered == "file_change":
        return _changes(arguments)
    if lowered in _PYTHONS:
        return python_spans(_text(arguments, "code", "command"))
    path = _text(arguments, *_PATHS)
    if not path:
        return [view(one) for one in _listed(arguments)] if lowered == "read_many_files" else []
    if lowered in EDITORS and isinstance(arguments.get("command"), str) and arguments["command"]:
        return _editor(path, arguments, answer, noted)
    if lowered in _READERS:
        return _read(path, name, arguments, answer, noted)
    if lowered in _WRITERS:
        return [edit(path, 1, line_count(_text(arguments, *_TEXTS)))]
    if lowered in _REPLACERS:
        return _replaced(path, arguments, answer, noted)
    if lowered in _SEARCHERS and "." in path.rsplit("/", 1)[-1].lstrip("."):
        return [view(path)]
    return []


def _text(arguments: dict[str, Any], *names: str) -> str:
    return next((value for name in names if isinstance(value := arguments.get(name), str) and value), "")


def _number(arguments: dict[str, Any], *names: str) -> int | None:
    for name in names:
        value = arguments.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None


def _listed(arguments: dict[str, Any]) -> Iterator[str]:
    for name in ("paths", "include"):
        values = arguments.get(name)
        for one in values if isinstance(values, list) else ():
            if isinstance(one, str) and not set("*?[") & set(one):
                yield one


def _read(path: str, name: str, arguments: dict[str, Any], answer: str, noted: Any) -> list[Found]:
    if answer.lstrip().startswith(_LISTING):
        return []
    known = pairs(noted)
    if known:
        return [view(path, *lines) for lines in known]
    start, end = _asked(name, arguments)
    return [view(path, start, _shown_end(start, end, answer))]


def _asked(name: str, arguments: dict[str, Any]) -> tuple[int, int | None]:
    """The lines that a reader was asked for; without any, from the first to the last."""
    wanted = arguments.get("view_range")
    if isinstance(wanted, list) and len(wanted) == 2 and all(isinstance(one, int) for one in wanted):
        return max(wanted[0], 1), wanted[1] if wanted[1] > 0 else None
    first, last = _number(arguments, "start_line", "line_start"), _number(arguments, "end_line", "line_end")
    if first is not None or last is not None:
        return max(first or 1, 1), last if last is not None and last > 0 else None
    offset, limit = _number(arguments, "offset"), _number(arguments, "limit")
    if offset is not None or limit is not None:
        # Claude Code counts lines from 1; the others skip as many lines as they say.
        start = max(offset or 0, 1) if name == "Read" else max(offset or 0, 0) + 1
        return start, start + limit - 1 if limit is not None and limit > 0 else None
    skipped, stop = _number(arguments, "start"), _number(arguments, "end")
    return max(skipped or 0, 0) + 1, stop if stop is not None and stop > 0 else None


def _shown_end(start: int, end: int | None, answer: str) -> int | None:
    """The last line that was printed, where the tool numbers them: files end before what was asked for."""
    numbered = numbered_lines(answer)
    if numbered and numbered[0][0] == start and (end is None or numbered[-1][0] <= end):
        return numbered[-1][0]
    return end


def _editor(path: str, arguments: dict[str, Any], answer: str, noted: Any) -> list[Found]:
    command = arguments["command"]
    if command == "view":
        return _read(path, "view", arguments, answer, noted)
    if command in ("create", "write"):
        return [edit(path, 1, line_count(_text(arguments, *_TEXTS)))]
    if command == "insert":
        after = _number(arguments, "insert_line")
        text = _text(arguments, "new_str", "text", "insert_text")
        return [edit(path, after + 1, after + line_count(text)) if after is not None and after >= 0 else edit(path)]
    if command in ("str_replace", "undo_edit"):
        return _replaced(path, arguments, answer, noted)
    return []


def _replaced(path: str, arguments: dict[str, Any], answer: str, noted: Any) -> list[Found]:
    known = pairs(noted)
    if known:
        return [edit(path, *lines) for lines in known]
    found = locate(numbered_lines(answer), _text(arguments, *_NEW))
    if found is not None:
        return [edit(path, *found)]
    start, end = _number(arguments, "start"), _number(arguments, "end")
    if start is not None and end is not None and 0 < start <= end:
        # An edit by line numbers puts its content in place of them.
        return [edit(path, start, start + line_count(_text(arguments, "content")) - 1)]
    return [edit(path)]


def _patch(arguments: dict[str, Any]) -> list[Found]:
    body = _text(arguments, "input", "patch", "diff", "raw", "content")
    return [
        edit(change.path, *lines)
        for change in parse_patch(body)
        if not change.removed
        for lines in change.ranges or ((None, None),)
    ]


def _changes(arguments: dict[str, Any]) -> list[Found]:
    changes = arguments.get("changes")
    return [
        edit(one["path"])
        for one in (changes if isinstance(changes, list) else ())
        if isinstance(one, dict) and isinstance(one.get("path"), str) and one.get("kind") != "delete"
    ]
