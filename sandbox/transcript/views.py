"""Which files a session looked at and changed, step by step, from its tool calls and its shell commands.

Evidence, not a trace: a command is read, never run, so what a script did inside itself stays unseen, and so does what
only a running shell could know. Calls that failed or never ran do not count.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from typing import Any

from .model import Result, Step, ToolCall, Transcript, plain, results_by_call
from .shell_spans import shell_spans
from .spans import Found, Span, normal_path
from .structured import tool_spans
from .windowed import NAMES as WINDOWED
from .windowed import windowed_spans

_SHELLS = frozenset(
    [
        "bash",
        "shell",
        "sh",
        "terminal",
        "run",
        "execute_bash",
        "run_shell_command",
        "shell_command",
        "exec_command",
        "local_shell",
        "container.exec",
        "command_execution",
        "run_command",
        "execute_command",
        "bash_command",
        "cmd",
    ]
)
_COMMANDS = ("command", "cmd", "script", "raw")
_FOLDERS = ("workdir", "working_directory", "cwd", "directory", "dir_path")
_MISSING = re.compile(r"([^\s:'\"]{1,4096})['\"]?: No such file or directory")
# Chat and Responses have no flag for a call that failed: the agent's tool says it at the beginning of a short answer.
_REFUSED = re.compile(r"\s*(?:\[?error\b\s*:|\[?an error occurred\b|apply_patch verification failed)", re.IGNORECASE)
_SHORT = 4000
MAX_ANSWER = 2_000_000


def extract_spans(transcript: Transcript, *, root: str | None = None, copied: bool = False) -> tuple[Span, ...]:
    """Every view and edit in order, paths relative to the workspace.

    `root` is the workspace's folder where the caller knows better than the transcript (`extra.cwd`), which may not say;
    `copied` takes in the steps copied over a handoff.
    """
    root = root or _folder((transcript.extra or {}).get("cwd"))
    cwd = root
    spans: list[Span] = []
    for step in transcript.steps:
        extra = step.extra or {}
        here = _folder(extra.get("cwd")) or cwd
        if copied or not step.is_copied_context:
            spans.extend(Span(*found, step.step_id) for found in step_spans(step, here, root))
        # SWE-agent and OpenHands tell the folder in which a step ended: it is where the next one begins.
        ended = [_folder((result.extra or {}).get("cwd")) for result in _results(step)]
        cwd = _folder(extra.get("working_dir")) or next((one for one in reversed(ended) if one), None) or cwd
    return tuple(spans)


def step_spans(step: Step, cwd: str | None, root: str | None) -> list[Found]:
    """The views and edits of one step, each once."""
    found: list[Found] = []
    answers = results_by_call(step)
    for call in step.tool_calls or ():
        if (call.extra or {}).get("unanswered"):
            continue
        results = answers.get(call.tool_call_id, [])
        answer = "\n".join(plain(result.content) for result in results)[:MAX_ANSWER]
        failed = any((result.extra or {}).get("is_error") for result in results) or _is_refusal(answer)
        found.extend(_call_spans(call, answer, failed, _noted(results), cwd, root, step))
    return list(dict.fromkeys(found))


def _call_spans(
    call: ToolCall, answer: str, failed: bool, noted: Any, cwd: str | None, root: str | None, step: Step
) -> list[Found]:
    name, arguments = call.function_name, call.arguments
    command = _command(arguments)
    if name in WINDOWED and set(arguments) == {"command"} and command is not None:
        opened = (step.extra or {}).get("open_file")
        made = [] if failed else windowed_spans(name, command, answer, opened if isinstance(opened, str) else None)
    elif name.lower() in _SHELLS and command is not None:
        folder = next((one for key in _FOLDERS if (one := _folder(arguments.get(key)))), None)
        inside = posixpath.join(cwd or root or "", folder) if folder else cwd
        return _without_missing(shell_spans(command, inside, root), answer)
    else:
        made = [] if failed else tool_spans(name, arguments, answer, noted)
    kept = [(one, normal_path(one.path, cwd, root)) for one in made]
    return [one._replace(path=path) for one, path in kept if path is not None]


def _command(arguments: dict[str, Any]) -> str | None:
    """The script of a shell's call; Codex once gave it as words, often those of `bash -lc SCRIPT`."""
    value = next((arguments[name] for name in _COMMANDS if arguments.get(name)), None)
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        return shlex.join(value)
    return None


def _without_missing(found: list[Found], answer: str) -> list[Found]:
    """Leave out views of files of which the command said that they do not exist."""
    missing = {posixpath.normpath(name) for name in _MISSING.findall(answer)}
    if not missing:
        return found
    return [
        one
        for one in found
        if one.kind == "edit" or not any(one.path == name or name.endswith("/" + one.path) for name in missing)
    ]


def _is_refusal(answer: str) -> bool:
    return len(answer) <= _SHORT and _REFUSED.match(answer) is not None


def _noted(results: list[Result]) -> Any:
    return next((result.extra["lines"] for result in results if result.extra and "lines" in result.extra), None)


def _results(step: Step) -> tuple[Result, ...]:
    return step.observation.results if step.observation else ()


def _folder(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
