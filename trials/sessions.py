"""How a session ended, as meta.json keeps it and as the scorecard repeats it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..grader.scorecard import Cutoff, NotesUse, Session, Tokens
from ..grader.text import path_text
from ..sandbox.errors import InputError
from ..sandbox.session import SessionResult
from ..sandbox.snapshot import Snapshot
from ..tiers.arms_notes import NotesUse as NotesReport
from .record import StepPaths, read_json, write_json


class SessionUsage(BaseModel):
    """What the gateway counted in a session: `tokens` of all answers that the agent got, None where one's are not known.

    `report` is all that it says of the session.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    tokens: Annotated[int, Field(ge=0)] | None
    calls: Annotated[int, Field(ge=0)]
    turns: Annotated[int, Field(ge=0)]
    report: dict[str, Any]


class SessionMeta(BaseModel):
    """
    meta.json of a session: `session` goes into the scorecard as it stands, `start` and `image` are its ends,
    `omitted` holds the paths that are not in the snapshot and why, `guest` what PID 1 found in the container,
    `usage` what the gateway counted, if there was one.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    start: str
    image: str
    guest: dict[str, Any]
    omitted: list[list[str]]
    session: Session
    usage: SessionUsage | None = None


def used(metas: Sequence[SessionMeta], declared: int | None) -> Tokens:
    """What the sessions of a trial used together: as it was counted, else as it was declared."""
    counted = [None if meta.usage is None else meta.usage.tokens for meta in metas]
    known = [tokens for tokens in counted if tokens is not None]
    if metas and len(known) == len(counted):
        return Tokens(total=sum(known), provenance="metered")
    return Tokens() if declared is None else Tokens(total=declared, provenance="declared")


def describe(
    result: SessionResult, start: Snapshot, notes: NotesReport | None, usage: SessionUsage | None = None
) -> SessionMeta:
    """The record of a session that has ended."""
    run = result.run
    cutoff = None
    if run.cutoff is not None:
        cutoff = Cutoff(
            rule=run.cutoff.rule if run.cutoff.n is None else f"{run.cutoff.rule}:{run.cutoff.n}",
            exact=run.cutoff.exact,
            why_not=run.cutoff.why_not,
            path=None if run.cutoff.path is None else path_text(run.cutoff.path),
            how=run.cutoff.how,
            late=[path_text(path) for path in run.cutoff.late],
            open=[path_text(path) for path in run.cutoff.open],
        )
    session = Session(
        exit=run.how,
        code=run.code,
        signal=run.signal,
        oom=run.oom,
        output_truncated=run.truncated,
        cutoff=cutoff,
        snapshot=f"sha256:{result.snapshot.sha256}",
        complete=result.snapshot.complete,
        omitted=[f"{path_text(item.path)}: {item.reason}" for item in result.snapshot.omitted],
        edited=[path_text(path) for path in run.edited],
        notes_use=None if notes is None else NotesUse(**notes),
        carried=list(result.carried),
        scrubbed=[f"{path_text(item.what)}: {item.why}" for item in result.scrubbed],
    )
    return SessionMeta(
        start=f"sha256:{start.sha256}",
        image=result.image.id,
        guest=asdict(result.guest),
        omitted=[[one.path, one.reason] for one in result.snapshot.omitted],
        session=session,
        usage=usage,
    )


def write_meta(paths: StepPaths, meta: SessionMeta) -> None:
    """Keep the record of a session."""
    write_json(paths.meta, meta.model_dump(mode="json"))


def read_meta(paths: StepPaths) -> SessionMeta:
    """A session's record; InputError if it is not one."""
    data = read_json(paths.meta)
    try:
        return SessionMeta.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise InputError(f"{paths.meta}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
