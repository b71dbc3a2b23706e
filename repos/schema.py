"""The forms of bugs.yaml, task.yaml, reference.yaml and a predictions file, as people write them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    StrictInt,
    StrictStr,
    model_validator,
)

from ..sandbox.tree import is_safe_path
from ..tiers.schema import StepForm


def _relative(path: str) -> str:
    if not is_safe_path(path.rstrip("/")) or path.split("/")[0].casefold() == ".git":
        raise ValueError(f"{path!r} is no path inside a workspace")
    return path


# A check's id ends at an underscore, so a bug's has none.
BugId = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=60)]
ProjectName = Annotated[str, Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,80}[A-Za-z0-9])?$")]
NAME = r"[A-Za-z][A-Za-z0-9_-]{0,63}"
TaskName = Annotated[str, Field(pattern=f"^{NAME}$")]
VERSION = r"[A-Za-z0-9][A-Za-z0-9.+!_-]{0,60}"
Version = Annotated[str, Field(pattern=f"^{VERSION}$")]
ArchiveName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]{0,120}\.tar\.gz$")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Inside = Annotated[str, AfterValidator(_relative)]
Text = Annotated[str, Field(min_length=1)]
Author = Annotated[str, Field(pattern=r"^[^<>]+ <[^<>@ ]+@[^<>@ ]+>$")]


class Strict(BaseModel):
    """A mapping in which every field is known."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _distinct(ids: list[str], what: str) -> None:
    if doubled := sorted({one for one in ids if ids.count(one) > 1}):
        raise ValueError(f"{what} {doubled[0]} stands twice")


class BugForm(Strict):
    """One wrong behaviour of the base release. `area` is `module:name`; `hint` the word that a hinted prompt uses."""

    id: BugId
    canonical: bool = True
    area: Text
    hint: Text | None = None
    specification: Text
    upstream: Text | None = None
    fixed_in: Version | None = None
    probe: Text
    base: JsonValue = None
    expected: JsonValue

    @model_validator(mode="after")
    def _differs(self) -> BugForm:
        # `true` and `1` are equal in Python and differ here.
        if repr(self.base) == repr(self.expected):
            raise ValueError(f"{self.id}: base and expected are the same")
        return self


class BugsForm(Strict):
    """bugs.yaml: the release that an agent gets, and what is wrong with it."""

    schema_version: Literal[1]
    project: ProjectName
    version: Version
    newest: Version | None = None
    sdist: ArchiveName
    sha256: Sha256
    bugs: Annotated[list[BugForm], Field(min_length=1)]

    @model_validator(mode="after")
    def _once(self) -> BugsForm:
        _distinct([bug.id for bug in self.bugs], "the bug")
        if not any(bug.canonical for bug in self.bugs):
            raise ValueError("no bug is canonical")
        return self


class HistoryForm(Strict):
    """A commit. `adds` are globs in which `*` stays within a folder; a path that ends in `/` is all below it."""

    author: Author
    date: AwareDatetime
    message: Text
    adds: Annotated[list[str], Field(min_length=1)]


class VisibleForm(Strict):
    """The release's own tests at base: what `python -m pytest ARGUMENTS` comes to in an image that has what they need.

    `canaries` is the folder for a file of tests that are not the release's; `environment` is all that they see.
    """

    image: Text
    python: Text
    arguments: Annotated[list[str], Field(min_length=1)]
    canaries: Inside
    environment: dict[str, str] = {}
    passed: Annotated[StrictInt, Field(gt=0)]
    seconds: Annotated[StrictInt, Field(gt=0)] = 300


class ProbeForm(Strict):
    """A bug as `takeover repos add` reads it: what base does is measured, not believed."""

    id: BugId
    canonical: bool = True
    area: Text
    hint: Text | None = None
    specification: Text
    upstream: Text | None = None
    fixed_in: Version | None = None
    probe: Text
    expected: JsonValue


class ProbesForm(Strict):
    """What `takeover repos add` makes a task of, beside the release itself."""

    schema_version: Literal[1]
    summary: Text
    package: Inside
    folders: list[Inside] = []
    protected: list[str] = []
    dropped: list[str] = []
    visible: VisibleForm | None = None
    bugs: Annotated[list[ProbeForm], Field(min_length=1)]

    @model_validator(mode="after")
    def _once(self) -> ProbesForm:
        _distinct([bug.id for bug in self.bugs], "the bug")
        return self


class RepoTaskForm(Strict):
    """task.yaml of a real codebase."""

    schema_version: Literal[1]
    id: TaskName
    tier: Annotated[StrictInt, Field(ge=1, le=4)]
    title: Text
    summary: Text
    budget_tokens: Annotated[StrictInt, Field(gt=0)]
    budget_reason: Annotated[str, Field(min_length=20)]
    steps: Annotated[list[StepForm], Field(min_length=1)]
    # Where the package is imported from: `src`, or nothing for the workspace itself.
    folders: list[Inside] = []
    package: Inside
    dropped: list[str] = []
    protected: list[str] = []
    visible: VisibleForm | None = None
    limits: dict[str, int | float | str] = {}
    history: Annotated[list[HistoryForm], Field(min_length=1)]


class EditForm(Strict):
    """One replacement in a file of base: `find` stands there exactly once."""

    path: Inside
    find: Text
    by: StrictStr


class ReferenceForm(Strict):
    """reference.yaml: for each bug the edits that mend it, alone and together with all others."""

    schema_version: Literal[1]
    patches: dict[BugId, Annotated[list[EditForm], Field(min_length=1)]]


class PredictionForm(Strict):
    """What somebody expects of one cell of the matrix; `resolved` of the bugs of the task."""

    task: TaskName
    arm: Text
    agent: Text | None = None
    resolved: Annotated[StrictInt | float, Field(ge=0)]
    why: str | None = None


class PredictionsForm(Strict):
    """A predictions file, frozen with the run before it starts."""

    schema_version: Literal[1]
    author: str | None = None
    predictions: Annotated[list[PredictionForm], Field(min_length=1)]

    @model_validator(mode="after")
    def _once(self) -> PredictionsForm:
        _distinct([f"{one.task} {one.arm} {one.agent or '*'}" for one in self.predictions], "the prediction for")
        return self
