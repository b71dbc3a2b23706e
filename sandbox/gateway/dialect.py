"""What the wire formats have in common, so that everything behind them is written once.

A dialect knows where a format keeps its settings, how to read a request's messages, and how to read an answer.
It reads what strangers wrote: whatever has another shape than expected is skipped, never an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from ..transcript.model import Metrics
from ..transcript.report import Tally
from .routes import Api

# One step of the way to a field, with the other spellings that the provider takes for the same.
Place = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Fields:
    """Where a format keeps what a run pins. `caps` are all fields that bound the output; new ones go to the first."""

    model: Place | None
    temperature: Place
    top_p: Place
    caps: tuple[Place, ...]
    choices: Place | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a request offers. `server` tools are run by the provider, not by the agent."""

    name: str
    schema: Mapping[str, Any]
    server: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call in an answer; `arguments` are an object, or the text that should have been one."""

    call_id: str | None
    name: str
    arguments: Any


@dataclass(frozen=True, slots=True)
class Prompt:
    """A message of the system or the user."""

    source: Literal["system", "user"]
    text: str
    leading: bool = False


@dataclass(frozen=True, slots=True)
class Echo:
    """A message of the model, as the agent repeats it in its history."""

    text: str
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool gave; where the format has no ids, the name says which."""

    call_id: str | None
    text: str
    name: str | None = None
    is_error: bool = False


Item = Prompt | Echo | ToolResult


@dataclass(slots=True)
class AnswerState:
    """What is known of an answer so far. `new_text` and `new_reasoning` hold what was not taken yet."""

    model: str | None = None
    answer_id: str | None = None
    new_text: list[str] = field(default_factory=list)
    new_reasoning: list[str] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    # Calls that still grow, by their place in the answer: id, name, pieces of arguments.
    growing: dict[Any, tuple[str | None, str, list[str]]] = field(default_factory=dict)
    usage: dict[str, Any] = field(default_factory=dict)
    said: bool = False
    complete: bool = False
    finish: str | None = None
    error: str | None = None
    events: int = 0

    def say(self, text: object) -> None:
        """More text of the answer."""
        if isinstance(text, str) and text:
            self.new_text.append(text)
            self.said = True

    def think(self, text: object) -> None:
        """More of what the model shows of its reasoning."""
        if isinstance(text, str) and text:
            self.new_reasoning.append(text)

    def take(self) -> tuple[str, str]:
        """Text and reasoning that came since the last time."""
        text, reasoning = "".join(self.new_text), "".join(self.new_reasoning)
        self.new_text.clear()
        self.new_reasoning.clear()
        return text, reasoning

    def settle_calls(self) -> None:
        """Take the calls that still grow as finished."""
        for call_id, name, pieces in self.growing.values():
            self.calls.append(Call(call_id, name, "".join(pieces)))
        self.growing.clear()

    def add_usage(self, usage: object) -> None:
        """Take in a report of usage; streams repeat it, partially, and never count down."""
        if isinstance(usage, dict):
            _merge(self.usage, usage, 3)


class Dialect(Protocol):
    """One wire format."""

    api: Api
    fields: Fields

    def streams(self, body: Mapping[str, Any]) -> bool:
        """Whether the body asks for a stream."""

    def tools(self, body: Mapping[str, Any]) -> list[Tool]:
        """The tools on offer."""

    def without_server_tools(self, body: dict[str, Any]) -> None:
        """Take out of the body what the provider would run."""

    def foreign(self, body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """References to what the provider keeps: name of the field, and id."""

    def items(self, body: Mapping[str, Any]) -> Iterator[Item]:
        """The messages of the request, in order."""

    def read_event(self, state: AnswerState, event: Mapping[str, Any]) -> None:
        """Take in one event of a stream."""

    def read_document(self, state: AnswerState, document: Mapping[str, Any]) -> None:
        """Take in a whole answer."""

    def metrics(self, usage: Mapping[str, Any], tally: Tally) -> Metrics | None:
        """Usage as the provider counts, brought to ours."""


def _merge(into: dict[str, Any], new: Mapping[str, Any], depth: int) -> None:
    for name, value in list(new.items())[:64]:
        before = into.get(name)
        if isinstance(value, dict):
            if depth > 0:
                inner = before if isinstance(before, dict) else {}
                _merge(inner, value, depth - 1)
                into[name] = inner
        elif _is_count(value) and _is_count(before):
            into[name] = max(before, value)
        elif value is not None and not _is_count(before):
            into[name] = value


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
