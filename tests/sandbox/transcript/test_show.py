"""A transcript in a terminal: complete, safe, plain where there is no terminal."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from takeover.sandbox.transcript.model import Agent, Metrics, Observation, Result, Step, ToolCall, Transcript
from takeover.sandbox.transcript.show import Limits, render_report, render_transcript
from takeover.sandbox.transcript.sniff import import_file
from takeover.sandbox.transcript.text import one_line, printable

SAMPLES = Path(__file__).parent / "samples"
BAD = "\x1b[31mred\x1b]0;title\x07 \x9b2J \u202eback\u2066 \x00 [bold]markup[/bold] \ud800"


def _shown(transcript: Transcript, *, terminal: bool = False, cutoff: int | None = None) -> str:
    console = Console(file=io.StringIO(), force_terminal=terminal, width=80)
    render_transcript(transcript, console, cutoff)
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def test_steps_calls_edits_and_tokens_are_shown() -> None:
    """What a reader looks for is on the page."""
    shown = _shown(import_file(SAMPLES / "claude_session.jsonl")[0])

    assert "claude-code 2.1.0 · made-up-1" in shown
    assert "#2  agent  2026-03-01T10:00:03.000Z  made-up-1  100 in (80 cached) / 10 out" in shown
    assert "→ Read /workspace/src/cart.py" in shown
    assert "→ Bash cat README.md" in shown
    assert "✎ src/cart.py:3-3" in shown
    assert "    - items[1:]\n    + items" in shown
    assert "(copied from before)" in shown
    assert "← error" in shown
    assert "5 steps  150 in (80 cached) / 22 out" in shown


def test_the_cutoff_stands_after_its_step() -> None:
    """The reader sees where the session was ended, and what came after if anything did."""
    shown = _shown(import_file(SAMPLES / "mini_v2_tools.traj.json")[0], cutoff=4)

    assert (
        shown.index("#4  agent")
        < shown.index("cutoff: the session was ended here, at step 4")
        < shown.index("#5  agent")
    )


def test_without_a_terminal_it_is_plain_and_unbroken() -> None:
    """No escape sequences, and a long line stays one line."""
    transcript = Transcript(
        agent=Agent(name="a", version="1"), steps=(Step(step_id=1, source="user", message="x" * 300),)
    )

    shown = _shown(transcript)

    assert "\x1b" not in shown
    assert "x" * 300 in shown
    assert "\x1b[" in _shown(transcript, terminal=True)


def test_a_stranger_cannot_speak_to_the_terminal() -> None:
    """Escape sequences, controls, bidi marks and markup in any field come out as text."""
    text = BAD.replace("\ud800", "")
    call = ToolCall(tool_call_id="c", function_name=text, arguments={"command": f"{text}\n{text}", text: text})
    step = Step(
        step_id=1,
        source="agent",
        message=text,
        reasoning_content=text,
        model_name=text,
        tool_calls=(call,),
        observation=Observation(results=(Result(source_call_id="c", content=text), Result(content=text))),
    )
    transcript = Transcript(
        agent=Agent(name=text, version=text, model_name=text),
        steps=(step,),
        notes=text,
        session_id=text,
        extra={"cwd": text},
    )

    shown = _shown(transcript)

    assert not set("\x1b\x07\x9b\x00\u202e\u2066") & set(shown)
    assert "[bold]markup[/bold]" in shown
    assert "\\e[31mred" in shown


def test_long_things_are_cut_and_say_by_how_much() -> None:
    """A thousand lines of output do not drown the rest."""
    result = Result(content="\n".join(str(n) for n in range(1000)))
    step = Step(step_id=1, source="agent", message="y" * 5000, observation=Observation(results=(result,)))
    console = Console(file=io.StringIO(), width=80)

    render_transcript(Transcript(agent=Agent(name="a", version="1"), steps=(step,)), console, limits=Limits(result=3))

    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "… 997 more lines" in shown
    assert "(3,000 more characters)" in shown


def test_unknown_tokens_are_not_shown_as_zero() -> None:
    """A transcript without usage says so."""
    shown = _shown(import_file(SAMPLES / "mini_v0.traj.json")[0])

    assert "tokens unknown" in shown
    assert "0 in" not in shown


def test_a_step_of_no_cost_is_told_from_one_of_unknown_cost() -> None:
    """Zero is a number."""
    step = Step(step_id=1, source="agent", message="x", metrics=Metrics(prompt_tokens=0, completion_tokens=0))

    assert "0 in / 0 out" in _shown(Transcript(agent=Agent(name="a", version="1"), steps=(step,)))


def test_the_report_says_what_was_left_out() -> None:
    """One line for each kind, with the count and why."""
    console = Console(file=io.StringIO(), width=80)

    render_report(import_file(SAMPLES / "claude_session.jsonl")[1], console)

    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "left out: 1 x branch (a message on a way not taken)" in shown
    assert "left out: 2 x side chain (a message of a subagent)" in shown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("a\tb\nc", "a\tb\nc"),
        ("a\r\nb", "a\nb"),
        ("a\rb", "a\\rb"),
        ("\x1b[0m", "\\e[0m"),
        ("\x85\u2028", "\\x85\\u2028"),
        ("\ud83d", "\\ud83d"),
        ("grüße 日本 🙂", "grüße 日本 🙂"),
    ],
)
def test_printable_keeps_text_and_escapes_the_rest(text: str, expected: str) -> None:
    """Letters of any script stay; what a terminal obeys, or cannot encode, is spelled out."""
    assert expected == printable(text)


def test_one_line_is_one_line_of_bounded_length() -> None:
    """For messages and headings."""
    assert "a\\nb" == one_line("a\nb")
    assert 20 == len(one_line("x" * 10_000_000, 20))
    assert json.dumps(one_line("\ud800", 20))
