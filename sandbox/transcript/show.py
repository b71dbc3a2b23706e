"""A transcript for a terminal: its steps, calls, edits and tokens, and where the session was cut off.

What agents and models wrote cannot obey or fake the terminal: everything in it that could is escaped, and it is never
taken for markup. Without a terminal it comes out plain, lines unbroken.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from .model import FinalMetrics, Metrics, Result, Step, ToolCall, Transcript, plain, results_by_call
from .report import ImportReport
from .spans import Span
from .text import one_line, printable
from .views import extract_spans

_STYLES = {"system": "magenta", "user": "green", "agent": "cyan"}
_HEADLINE = ("command", "cmd", "file_path", "path", "filePath", "absolute_path", "pattern", "query", "url")
_OLD = ("old_string", "old_str", "oldString")
_NEW = ("new_string", "new_str", "newString", "content", "file_text", "input")


@dataclass(frozen=True, slots=True)
class Limits:
    """How many lines of a message, of one call's arguments and of one result are shown."""

    message: int = 30
    call: int = 12
    result: int = 12
    width: int = 2000


def render_transcript(
    transcript: Transcript, console: Console, cutoff_step: int | None = None, *, limits: Limits | None = None
) -> None:
    """Print a transcript. `cutoff_step` is the step during or after which the session was ended from outside."""
    limits = limits or Limits()
    _head(transcript, console)
    edits: dict[int, list[Span]] = {}
    for span in extract_spans(transcript, copied=True):
        if span.kind == "edit":
            edits.setdefault(span.step_id, []).append(span)
    for step in transcript.steps:
        _step(step, edits.get(step.step_id, []), console, limits)
        if step.step_id == cutoff_step:
            _say(console, f"──── cutoff: the session was ended here, at step {step.step_id} ────", "bold red")
            _say(console, "")
    _totals(transcript.final_metrics, len(transcript.steps), console)
    if transcript.notes:
        _say(console, one_line(transcript.notes, 500), "yellow")


def render_report(report: ImportReport, console: Console) -> None:
    """Print what an import found, left out and thought odd."""
    version = f" {one_line(report.version, 40)}" if report.version else ""
    _say(console, f"{report.source}: {report.format}{version}", "bold")
    for dropped in report.dropped:
        _say(console, f"  left out: {dropped.count:,} x {dropped.kind.replace('_', ' ')} ({dropped.note})", "yellow")
    for warning in report.warnings:
        _say(console, f"  note: {printable(warning)}", "yellow")


def _say(console: Console, text: str, style: str = "") -> None:
    console.print(Text(text, style=style), soft_wrap=True, highlight=False)


def _head(transcript: Transcript, console: Console) -> None:
    agent = transcript.agent
    parts = [f"{agent.name} {agent.version}", agent.model_name or "", transcript.session_id or ""]
    _say(console, one_line(" · ".join(part for part in parts if part), 300), "bold")
    cwd = (transcript.extra or {}).get("cwd")
    if isinstance(cwd, str):
        _say(console, f"workspace {one_line(cwd, 200)}", "dim")
    _say(console, "")


def _step(step: Step, edits: list[Span], console: Console, limits: Limits) -> None:
    marks = [f"#{step.step_id}", step.source]
    if step.is_copied_context:
        marks.append("(copied from before)")
    if step.timestamp:
        marks.append(step.timestamp)
    if step.model_name:
        marks.append(step.model_name)
    if step.metrics is not None:
        marks.append(_tokens(step.metrics))
    style = "dim" if step.is_copied_context else f"bold {_STYLES[step.source]}"
    _say(console, one_line("  ".join(marks), 300), style)
    if step.reasoning_content:
        _block(console, step.reasoning_content.strip(), limits.message, limits, "  ~ ", "dim italic")
    if message := plain(step.message):
        _block(console, message.strip(), limits.message, limits, "  ", "")
    answers = results_by_call(step)
    for call in step.tool_calls or ():
        _call(call, console, limits)
        for result in answers.get(call.tool_call_id, []):
            _result(result, console, limits)
    for result in answers.get(None, []):
        _result(result, console, limits)
    for span in edits:
        _say(console, f"  ✎ {one_line(span.path, 300)}{_lines(span)}", "bold yellow")
    _say(console, "")


def _call(call: ToolCall, console: Console, limits: Limits) -> None:
    unanswered = "  (never answered)" if (call.extra or {}).get("unanswered") else ""
    name, rest, change = _headline(call.arguments)
    first, _, more = name.partition("\n")
    title = f"  → {one_line(call.function_name, 80)} {one_line(first, 300)}{unanswered}".rstrip()
    _say(console, title, "blue")
    if more:
        _block(console, more, limits.call, limits, "    ", "blue")
    for sign, text in change:
        _block(console, text, limits.call, limits, f"    {sign} ", "red" if sign == "-" else "green")
    if rest:
        _block(console, rest, limits.call, limits, "    ", "dim blue")


def _headline(arguments: dict[str, Any]) -> tuple[str, str, list[tuple[str, str]]]:
    """The argument that says most; the others as JSON; what is taken out (`-`) and put in (`+`)."""
    key = next((name for name in _HEADLINE if isinstance(arguments.get(name), str)), None)
    texts = {name: value for name, value in arguments.items() if isinstance(value, str) and value}
    change = [("-", texts[name]) for name in _OLD if name in texts] + [
        ("+", texts[name]) for name in _NEW if name in texts
    ]
    rest = {name: value for name, value in arguments.items() if name not in (key, *_OLD, *_NEW)}
    shown = json.dumps(rest, ensure_ascii=False) if rest else ""
    return (str(arguments[key]) if key is not None else "", shown, change)


def _result(result: Result, console: Console, limits: Limits) -> None:
    extra = result.extra or {}
    notes = []
    if extra.get("is_error"):
        notes.append("error")
    if isinstance(extra.get("returncode"), int) and extra["returncode"] != 0:
        notes.append(f"exit {extra['returncode']}")
    if extra.get("is_cut"):
        notes.append("shown in part")
    style = "red" if notes[:1] == ["error"] else "dim"
    if notes:
        _say(console, f"  ← {', '.join(notes)}", style)
    if text := plain(result.content):
        _block(console, text, limits.result, limits, "  │ ", style)


def _block(console: Console, text: str, most: int, limits: Limits, indent: str, style: str) -> None:
    """Print text up to so many lines, and say how many there are more."""
    text = printable(text.strip("\n"))
    lines = text.split("\n")
    for line in lines[:most]:
        cut = (
            line
            if len(line) <= limits.width
            else f"{line[: limits.width]}… ({len(line) - limits.width:,} more characters)"
        )
        _say(console, f"{indent}{cut}", style)
    if len(lines) > most:
        _say(console, f"{indent}… {len(lines) - most:,} more lines", style)


def _lines(span: Span) -> str:
    if span.start is None:
        return ""
    return f":{span.start}-{span.end if span.end is not None else 'end'}"


def _tokens(metrics: Metrics) -> str:
    parts = []
    if metrics.prompt_tokens is not None:
        cached = f" ({metrics.cached_tokens:,} cached)" if metrics.cached_tokens else ""
        parts.append(f"{metrics.prompt_tokens:,} in{cached}")
    if metrics.completion_tokens is not None:
        parts.append(f"{metrics.completion_tokens:,} out")
    if metrics.cost_usd:
        parts.append(f"${metrics.cost_usd:.4f}")
    return " / ".join(parts)


def _totals(final: FinalMetrics | None, steps: int, console: Console) -> None:
    told = "tokens unknown"
    if final is not None:
        whole = Metrics(
            prompt_tokens=final.total_prompt_tokens,
            completion_tokens=final.total_completion_tokens,
            cached_tokens=final.total_cached_tokens,
            cost_usd=final.total_cost_usd,
        )
        told = _tokens(whole) or told
    _say(console, f"{steps:,} steps  {told}", "bold")
