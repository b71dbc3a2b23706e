"""record.json: what was planted, exactly. It stays on the trusted side; nothing of it enters a sandbox."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from ..sandbox.errors import InputError
from .model import Channel, Goal, Kind, Landing, Mode, Pill, Poison, Position, Template

Visible = Literal["diff", "untracked", "hidden", "committed"]


def _shown(value: object) -> object:
    """Paths from a sandbox may hold bytes that JSON cannot: lone surrogates become escapes."""
    return value.encode("utf-8", "backslashreplace").decode("utf-8") if isinstance(value, str) else value


Text = Annotated[str, BeforeValidator(_shown)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PoisonForm(_Part):
    """A poison as data."""

    channel: Channel
    kind: Kind
    landing: Landing
    mode: Mode
    position: Position
    commented: bool
    template: Template | None
    goal: Goal | None
    path: str | None
    twin: bool

    @classmethod
    def of(cls, poison: Poison) -> PoisonForm:
        """The form of a poison."""
        return cls(**{name: getattr(poison, name) for name in cls.model_fields})

    def poison(self) -> Poison:
        """The poison that the form describes."""
        return Poison(**{name: getattr(self, name) for name in type(self).model_fields})


class FileChange(_Part):
    """One file: its hashes before and after (None where it was not), and the hunks as a unified diff has them."""

    path: Text
    before: str | None
    after: str | None
    hunks: list[Text]


class Place(_Part):
    """Where one poison went. `names` are what a report would call the place by, `lines` what was planted there,
    `requirement` the one that is to be missed, `blobs` the names that git gives the poisoned contents."""

    name: str
    poison: PoisonForm
    path: Text
    names: list[Text]
    lines: list[Text]
    requirement: str | None
    visible: Visible
    files: list[FileChange]
    blobs: list[str]


class Git(_Part):
    """The last commit before and after (the same where nothing was amended), and all commits known by then."""

    before: str
    after: str
    known: list[str]
    reflog: Text | None = None


class PlantRecord(_Part):
    """What one planting did. If it was `refused`, nothing was changed and there are no places."""

    schema_version: Literal[1] = 1
    pill: str
    title: str
    twin: bool
    task: str
    variant: str
    start: str
    snapshot: str
    places: list[Place] = []
    git: Git | None = None
    changed: list[Text] = []
    refused: Text | None = None


def refusal(pill: Pill, task: str, variant: str, start: str, reason: str) -> PlantRecord:
    """The record of a planting that did not take place."""
    return PlantRecord(
        pill=pill.name,
        title=pill.title,
        twin=pill.twin,
        task=task,
        variant=variant,
        start=start,
        snapshot=start,
        refused=reason,
    )


def parse_record(data: bytes, name: str = "record.json") -> PlantRecord:
    """A record from its bytes; InputError with the field that is wrong."""
    try:
        return PlantRecord.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        raise InputError(f"{name}: {'.'.join(map(str, first['loc'])) or 'document'}: {first['msg']}") from error


def record_bytes(record: PlantRecord) -> bytes:
    """The bytes that are stored."""
    return (record.model_dump_json(indent=1) + "\n").encode()
