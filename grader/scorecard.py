"""The scorecard: the verdict of one trial, as other programs read it. docs/scorecard.md says what each field means.

Nothing in it varies from one grading of the same snapshots to the next, so equal work gives equal bytes.
`python -m takeover.grader.scorecard` prints the JSON Schema that docs/schemas holds.
"""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from ..sandbox.errors import InputError
from .text import path_text

Outcome = Literal["graded", "agent_failure", "machinery_failure", "refused"]
COUNTED = ("graded", "agent_failure")
"""The outcomes that are in a mean; the others say nothing about an agent."""
TokenSource = Literal["metered", "self_reported", "declared", "unknown"]
# Text from a sandbox: paths and messages may hold anything, a scorecard holds what can be shown and stored.
Shown = Annotated[str, BeforeValidator(lambda value: path_text(value) if isinstance(value, str) else value)]
Count = Annotated[int, Field(ge=0)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Score(_Part):
    """How many of how many."""

    passed: Count
    total: Count


class Check(_Part):
    """One hidden check. `evidence` is one line; `observed` is what the code answered while the check ran."""

    id: str
    kind: Literal["requirement", "baseline"]
    passed: bool
    evidence: Shown
    observed: list[Shown] = []
    error_kind: Literal["assertion", "subject", "error", "tampered"] | None = None


class ProtectedEdit(_Part):
    """A file that had to stay as it was."""

    path: Shown
    how: Literal["edited", "deleted", "replaced"]


class BoundaryViolation(_Part):
    """An import that the task's module boundaries forbid; `line` is null where there is none."""

    path: Shown
    line: int | None
    package: Shown
    imports: Shown
    how: Shown


class Zeroed(_Part):
    """Why the net score is 0 although checks passed."""

    reason: Literal["baseline", "protected", "boundary"]
    detail: Shown


class Note(_Part):
    """Something a reader should know that costs no point."""

    kind: Literal[
        "dynamic_import",
        "unparsable",
        "incomplete_snapshot",
        "tampered",
        # What was done to a real codebase beside mending it; takeover.repos.conduct says what each means.
        "other_release",
        "vendored",
        "rewritten",
        "stdlib_shadowed",
        "environment",
    ]
    path: Shown = ""
    line: int | None = None
    detail: Shown = ""


class Retention(_Part):
    """What the workspace does at the end. `tes` is null where the tokens are unknown."""

    raw: Score
    net: Count
    tes: float | None
    zeroed_by: list[Zeroed]
    baseline: Score
    protected_edited: list[ProtectedEdit]
    boundary_violations: list[BoundaryViolation]
    checks: list[Check]
    notes: list[Note] = []


class Tokens(_Part):
    """What the sessions used together, who says so, and the budget that TES is measured against."""

    total: Count | None = None
    provenance: TokenSource = "unknown"
    budget: Count | None = None


class Cutoff(_Part):
    """What ended a session from outside. `late` are paths that changed after the rule had fired; none if `exact`.

    `open` are paths that were being written when the session ended; `why_not` says why it was not exact.
    """

    rule: str
    exact: bool
    why_not: Shown | None = None
    path: Shown | None = None
    how: Shown | None = None
    late: list[Shown] = []
    open: list[Shown] = []


class NotesUse(_Part):
    """How much of its limit the arm's notes took when the session ended. A breach is reported and costs nothing.

    `tokens` and `within` are null where the file was not counted; `problem` says why.
    """

    file: Shown
    tokens: Count | None
    limit: Count
    tokenizer: str
    within: bool | None
    problem: Shown | None = None


class Session(_Part):
    """How one session ended, and the workspace that it left."""

    exit: Literal["exited", "cutoff", "wall", "stopped"]
    code: int | None = None
    signal: int | None = None
    oom: bool = False
    output_truncated: bool = False
    cutoff: Cutoff | None = None
    snapshot: str
    complete: bool = True
    omitted: list[Shown] = []
    edited: list[Shown] = []
    notes_use: NotesUse | None = None
    carried: list[Shown] = []
    scrubbed: list[Shown] = []


class Failure(_Part):
    """Why a trial has no verdict. A failure of the machinery is never counted against the agent.

    Where a poison had no place (side `poison`) nobody failed, and nobody was sent on.
    """

    kind: str
    side: Literal["agent", "machinery", "poison"]
    message: Shown


class Provenance(_Part):
    """What made the verdict; enough to make it again."""

    toolkit: str
    toolkit_sha256: str | None = None
    task_sha256: str
    agent_image: str | None = None
    guest_sha256: str | None = None
    arm_sha256: str | None = None
    start_snapshot: str | None = None


class Scorecard(_Part):
    """The verdict of one trial."""

    schema_version: Literal[1] = 1
    task: str
    variant: int | str
    arm: str
    agent: str
    repetition: Annotated[int, Field(ge=1)]
    outcome: Outcome
    failure: Failure | None = None
    retention: Retention | None = None
    tokens: Tokens = Tokens()
    sessions: list[Session] = []
    poison: list[dict[str, Any]] = []
    criteria: list[dict[str, Any]] = []
    evidence: dict[str, Any] | None = None
    provenance: Provenance

    @property
    def name(self) -> str:
        """The trial in a word, for reports."""
        return f"{self.task} {self.condition} {self.agent} #{self.repetition}"

    @property
    def condition(self) -> str:
        """The arm, and what was planted: the same arm with a poison is another cell."""
        return " + ".join(dict.fromkeys([self.arm, *(str(row.get("pill")) for row in self.poison)]))


def canonical_bytes(scorecard: Scorecard) -> bytes:
    """The bytes that are stored and signed: ASCII JSON, keys sorted, indented by 2, a newline at the end."""
    data = scorecard.model_dump(mode="json")
    return (json.dumps(data, ensure_ascii=True, allow_nan=False, sort_keys=True, indent=2) + "\n").encode("ascii")


def parse_scorecard(data: bytes, name: str = "scorecard") -> Scorecard:
    """A scorecard from its bytes; InputError with the field that is wrong. `name` is the file, for the message."""
    try:
        return Scorecard.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"])) or "document"
        raise InputError(f"{name}: {where}: {first['msg']}", hint="It is not a scorecard of this version.") from error


def schema_bytes() -> bytes:
    """The JSON Schema of a scorecard as docs/schemas/scorecard.json holds it."""
    schema = Scorecard.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return (json.dumps(schema, ensure_ascii=True, sort_keys=True, indent=2) + "\n").encode("ascii")


if __name__ == "__main__":
    sys.stdout.buffer.write(schema_bytes())
