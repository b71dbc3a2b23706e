"""The forms of task.yaml, wiring.yaml and arm.yaml, as people write them.

`python -m takeover.tiers.schema task` (wiring, arm) prints the JSON Schema that docs/schemas holds.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Annotated, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, StrictInt, StrictStr, model_validator

Name = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,63}$")]
ParameterName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
RequirementId = Annotated[str, Field(pattern=r"^R[1-9][0-9]*$")]
BaselineId = Annotated[str, Field(pattern=r"^B[1-9][0-9]*$")]
PillName = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_.-]{0,149}$")]
FileName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+\.md$")]
Scalar = StrictInt | StrictStr
MAX_VALUES = 100_000


def _once(values: list[str]) -> list[str]:
    if doubled := sorted({value for value in values if values.count(value) > 1}):
        raise ValueError(f"{doubled[0]} stands twice")
    return values


Once = AfterValidator(_once)


class Strict(BaseModel):
    """A mapping in which every field is known."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class SessionForm(Strict):
    """A session: its prompt, and when it is ended from outside."""

    prompt: FileName
    cutoff: str = "none"
    armed: str | None = None


class StepForm(Strict):
    """One step of the script."""

    session: SessionForm | None = None
    poison: PillName | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> StepForm:
        if (self.session is None) == (self.poison is None):
            raise ValueError("a step is either a session or a poison")
        return self


class ParameterForm(Strict):
    """What a parameter may be: `choices`, or whole numbers `from` .. `to`; and how each choice reads."""

    default: Scalar
    choices: list[Scalar] | None = None
    low: StrictInt | None = Field(default=None, alias="from")
    high: StrictInt | None = Field(default=None, alias="to")
    step: Annotated[StrictInt, Field(gt=0)] = 1
    words: dict[str, str] | None = None
    code: dict[str, str] | None = None
    # Its values are words that the code base uses anyway, so finding them there is no leak.
    vocabulary: bool = False
    # By wave, from the second on: the value that the wave's amendments give it.
    amended: dict[StrictInt, Scalar] = {}

    @property
    def allowed(self) -> list[Scalar]:
        """All values that it may take."""
        if self.choices is not None:
            return list(self.choices)
        # The validator has seen to it that both are there.
        return list(range(self.low or 0, (self.high or 0) + 1, self.step))

    def value_at(self, wave: int) -> Scalar:
        """The published value that is in force after a wave."""
        last = max((given for given in self.amended if given <= wave), default=None)
        return self.default if last is None else self.amended[last]

    @model_validator(mode="after")
    def _consistent(self) -> ParameterForm:
        ranged = self.low is not None and self.high is not None
        if (self.choices is not None) == ranged or (self.low is None) != (self.high is None):
            raise ValueError("give either choices, or from and to")
        if ranged and ((self.high or 0) - (self.low or 0)) // self.step >= MAX_VALUES:
            raise ValueError(f"more than {MAX_VALUES} values")
        allowed = self.allowed
        if len(allowed) < 2 or len(set(allowed)) != len(allowed) or len({type(value) for value in allowed}) != 1:
            raise ValueError("needs at least two different values of one type")
        if self.default not in allowed:
            raise ValueError(f"the default {self.default!r} is not among its values")
        self._check_amended(allowed)
        for face, table in (("words", self.words), ("code", self.code)):
            if table is not None and set(table) != {str(value) for value in allowed}:
                raise ValueError(f"{face} must name exactly its choices")
            if table is not None and len(set(table.values())) != len(table):
                raise ValueError(f"two choices have the same {face}")
        return self

    def _check_amended(self, allowed: list[Scalar]) -> None:
        if any(wave < 2 for wave in self.amended):
            raise ValueError("only the second wave and later ones amend")
        if any(value not in allowed for value in self.amended.values()):
            raise ValueError("an amended value is not among its values")
        if len({self.default, *self.amended.values()}) != 1 + len(self.amended):
            raise ValueError("every amended value differs from those before it")


class ConstraintForm(Strict):
    """A relation between parameters."""

    distinct: list[ParameterName] | None = None
    ascending: list[ParameterName] | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> ConstraintForm:
        if (self.distinct is None) == (self.ascending is None):
            raise ValueError("a constraint is either distinct or ascending")
        return self


class CommitForm(Strict):
    """One commit of the history: the files that it adds, and the marks that it turns on."""

    author: str
    date: AwareDatetime
    message: Annotated[str, Field(min_length=1)]
    adds: list[str] = []
    turns_on: list[Name] = []

    @model_validator(mode="after")
    def _author_has_an_address(self) -> CommitForm:
        if not re.fullmatch(r"[^<>]+ <[^<>@ ]+@[^<>@ ]+>", self.author):
            raise ValueError("author must read `Name <name@host>`")
        if not self.adds and not self.turns_on:
            raise ValueError("a commit adds files or turns on marks")
        return self


class VandalForm(Strict):
    """An edit that breaks the original behaviour and leaves the visible tests green."""

    path: str
    text: Annotated[str, Field(min_length=1)]
    by: str


class TaskForm(Strict):
    """task.yaml."""

    schema_version: Literal[1]
    id: Name
    tier: Annotated[StrictInt, Field(ge=1, le=4)]
    title: str
    budget_tokens: Annotated[StrictInt, Field(gt=0)]
    budget_reason: Annotated[str, Field(min_length=20)]
    steps: Annotated[list[StepForm], Field(min_length=1)]
    grade: Annotated[list[Literal["retention", "boundaries"]], Field(min_length=1), Once]
    requirements: Annotated[list[RequirementId], Field(min_length=1), Once]
    baseline: Annotated[list[BaselineId], Field(min_length=1), Once]
    notes: FileName
    # The agent builds the baseline itself, from TASK.md: what the workspace has under `#:if BASE`.
    from_scratch: bool = False
    visible_tests: Annotated[list[str], Field(min_length=1)] = ["python3", "-m", "unittest"]
    protected: list[str]
    limits: dict[str, int | float | str] = {}
    vandal: VandalForm | None = None
    marks: Annotated[list[Name], Once] = []
    history: Annotated[list[CommitForm], Field(min_length=1)]
    parameters: dict[ParameterName, ParameterForm]
    constraints: list[ConstraintForm] = []


class BoundaryForm(Strict):
    """A package, what it may not import, and the reason."""

    package: Name
    may_not_import: Annotated[list[Name], Field(min_length=1)]
    why: Annotated[str, Field(min_length=1)]


class WiringForm(Strict):
    """wiring.yaml."""

    version: Literal[1]
    packages: Annotated[dict[Name, str], Field(min_length=1)]
    layers: list[list[Name]] = []
    boundaries: list[BoundaryForm] = []


class ArmForm(Strict):
    """arm.yaml."""

    schema_version: Literal[1]
    name: Name
    title: Annotated[str, Field(min_length=1)]
    # One limit for all tiers, or one for each; the file that it limits is `state`.
    state_tokens: StrictInt | dict[StrictInt, StrictInt] | None = None
    state: str | None = None
    # Files made from the task's baseline.
    generated: Annotated[list[Literal["app_map", "gate_check"]], Once] = []
    # Whether there is a git repository before the last session.
    history: Literal["full", "none-before-last"] = "full"

    @model_validator(mode="after")
    def _limit_and_file(self) -> ArmForm:
        if (self.state_tokens is None) != (self.state is None):
            raise ValueError("state and state_tokens go together")
        if "gate_check" in self.generated and "app_map" not in self.generated:
            raise ValueError("gate_check compares the hashes of app_map: generate both")
        return self


FORMS: dict[str, type[Strict]] = {"task": TaskForm, "wiring": WiringForm, "arm": ArmForm}


def schema_bytes(name: str) -> bytes:
    """The JSON Schema of one of the forms, as docs/schemas holds it."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **FORMS[name].model_json_schema()}
    return (json.dumps(schema, ensure_ascii=True, sort_keys=True, indent=2) + "\n").encode("ascii")


if __name__ == "__main__":
    sys.stdout.buffer.write(schema_bytes(sys.argv[1]))
