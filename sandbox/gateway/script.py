"""What a scripted model does, turn by turn, in words that fit every agent: a shell command, a file written or edited.

Which tool that becomes is found in each request, among those that the agent offers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Shell:
    """Run a command."""

    command: str


@dataclass(frozen=True, slots=True)
class Write:
    """Write a whole file; `path` is relative to the workspace."""

    path: str
    content: str


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace a text that occurs once in a file."""

    path: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Read:
    """Look at a file."""

    path: str


@dataclass(frozen=True, slots=True)
class Finish:
    """Say that the work is done, with the tool that the agent has for it, if any."""

    text: str = "Done."


@dataclass(frozen=True, slots=True)
class Use:
    """Call a tool by its name, as it is."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


Action = Shell | Write | Edit | Read | Finish | Use


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the scripted provider reports them: `prompt` is all input."""

    prompt: int
    completion: int
    cached: int = 0
    reasoning: int = 0


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong instead of, or during, an answer.

    `status` answers with that status; `cut_after` breaks off after so many chunks; `error_after` sends an error as an
    event after so many chunks. The same request asked again gets the next turn.
    """

    status: int | None = None
    retry_after: float | None = None
    cut_after: int | None = None
    error_after: int | None = None
    message: str = "scripted fault"


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer: text and actions. `usage` None is made up from the sizes; `tells_usage` False leaves it out."""

    say: str = ""
    actions: tuple[Action, ...] = ()
    think: str = ""
    usage: Usage | None = None
    tells_usage: bool = True
    model: str | None = None
    fault: Fault | None = None


def turn(*actions: Action, say: str = "", **more: Any) -> Turn:
    """A turn in short."""
    return Turn(say, actions, **more)


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A call as it goes into an answer."""

    call_id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer before it is in any provider's shape."""

    answer_id: str
    model: str
    text: str
    think: str
    calls: tuple[ToolUse, ...]
    usage: Usage | None
