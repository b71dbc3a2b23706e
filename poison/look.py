"""The commits that a receiver made, read in a throwaway sandbox as the agent's user (git_worker.py)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, ValidationError

from ..sandbox.engine import NO_LABELS, Opener
from ..sandbox.images import SANDBOX
from ..sandbox.limits import Limits
from ..sandbox.sandbox import CommandFailed, ProcessGone
from ..sandbox.snapshot import Snapshot
from ..sandbox.store import SnapshotStore
from .plant import WAIT, command


class Commit(BaseModel):
    """One commit: who (name and address), the message, and its blobs at the paths that were asked for."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    id: str
    author: str
    message: str
    blobs: dict[str, str]


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    head: str
    commits: list[Commit]


@dataclass(frozen=True, slots=True)
class GitFacts:
    """What git says of a workspace; `problem` says why it says nothing."""

    head: str | None
    commits: tuple[Commit, ...] = ()
    problem: str | None = None


def git_facts(
    opener: Opener,
    store: SnapshotStore,
    snapshot: Snapshot,
    known: Sequence[str],
    paths: Sequence[str],
    limits: Limits,
    labels: Mapping[str, str] = NO_LABELS,
) -> GitFacts:
    """The commits of a workspace that none of the `known` ones reaches, and what they have at some paths."""
    request = json.dumps({"op": "facts", "known": list(known), "paths": list(paths)}).encode("ascii")
    with opener.open(SANDBOX, limits=limits, labels=labels) as sandbox:
        sandbox.load(store.open(snapshot.sha256))
        try:
            with sandbox.open_process(command(), cwd="/", wall=limits.wall) as process:
                return _answer(process.ask(request, WAIT))
        except (ProcessGone, CommandFailed) as gone:
            return GitFacts(None, problem=f"git could not be worked with: {gone}")


def _answer(line: bytes) -> GitFacts:
    try:
        data = json.loads(line)
        if isinstance(data, dict) and isinstance(data.get("refused"), str):
            return GitFacts(None, problem=data["refused"][:500])
        answer = _Answer.model_validate(data)
    except (ValueError, RecursionError, ValidationError):
        return GitFacts(None, problem="git answered nonsense")
    return GitFacts(answer.head, tuple(answer.commits))
