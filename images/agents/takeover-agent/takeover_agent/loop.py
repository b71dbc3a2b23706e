"""The agent: ask the model, do what it calls for, tell it what came of it, until it says that it is done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

# Answers in a row without a call after which there is no point in going on.
SILENT = 3
NUDGE = "You called no tool. Go on with the tools; call finish when the work is done."


@dataclass(frozen=True)
class Call:
    """A tool that the model calls. `arguments` is JSON as the model wrote it, which may be none."""

    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class Answer:
    """What the model said and what it calls for."""

    text: str
    calls: tuple[Call, ...]


@dataclass(frozen=True)
class Result:
    """What came of a call. An error is a result like any other: the model is told, and may do better."""

    call: Call
    text: str
    is_error: bool = False


class ModelGone(Exception):
    """There is no model any more: the budget is spent (a 404), or the provider refuses or cannot be reached."""


class Model(Protocol):
    """A conversation with a model, in whatever wire format."""

    def say(self, text: str) -> None:
        """Add a message of the user's."""

    def report(self, results: Sequence[Result]) -> None:
        """Add the results of all calls of the last answer, in their order."""

    def answer(self) -> Answer:
        """Ask for the next answer, which becomes part of the conversation. Raises ModelGone."""


class Tools(Protocol):
    """What the agent can do."""

    def run(self, call: Call) -> Result:
        """Carry out a call. Whatever goes wrong is in the result."""


def work(model: Model, tools: Tools, prompt: str, steps: int, log: Callable[[str], None] = print) -> bool:
    """Work on a prompt for at most so many answers; whether the model said that it is done. Raises ModelGone."""
    model.say(prompt)
    silent = 0
    for step in range(1, steps + 1):
        answer = model.answer()
        if answer.text.strip():
            log(f"[{step}] {answer.text.strip()}")
        results = []
        for call in answer.calls:
            log(f"[{step}] {call.name} {_short(call.arguments)}")
            if call.name == "finish":
                return True
            results.append(tools.run(call))
            log(f"[{step}] {'error' if results[-1].is_error else 'ok'}: {_short(results[-1].text)}")
        if results:
            silent = 0
            model.report(results)
            continue
        silent += 1
        if silent == SILENT:
            log(f"stopped: {SILENT} answers in a row without a call")
            return False
        model.say(NUDGE)
    log(f"stopped: {steps} answers are the limit")
    return False


def _short(text: str, limit: int = 200) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 3] + "..."
