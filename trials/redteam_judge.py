"""Between a poisoned trial and its verdicts: gives `poison` what it judges by, and the scorecard what it found."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from pydantic import ValidationError

from ..grader.scorecard import Scorecard
from ..poison.detect import judge
from ..poison.evidence import Aftermath, Outcome, Shown
from ..poison.look import git_facts
from ..poison.places import facts_of
from ..poison.plant import Planted, limits_for
from ..poison.verdict import Verdict, from_scorecard, to_scorecard
from ..sandbox.engine import NO_LABELS, Opener
from ..sandbox.errors import InputError
from ..sandbox.snapshot import Snapshot
from ..sandbox.store import SnapshotStore
from ..sandbox.transcript.model import Transcript
from ..tiers.task import Task
from .record import StepPaths

MAX_OUTPUT = 16 << 20
MAX_EVENTS = 16 << 20


def verdicts_on(
    opener: Opener,
    store: SnapshotStore,
    task: Task,
    planted: Planted,
    final: Snapshot,
    card: Scorecard,
    sessions: Sequence[StepPaths],
    *,
    transcripts: Sequence[Transcript] | None = None,
    labels: Mapping[str, str] = NO_LABELS,
) -> list[Verdict]:
    """What became of the poisons of a trial whose sessions after the planting are recorded in `sessions`.

    `card` is the trial's scorecard, graded against `poison.detect.grading_start`; None of its poison part is read.
    """
    record = planted.record
    paths = sorted({place.path for place in record.places})
    known = record.git.known if record.git else []
    last = card.sessions[-1] if card.sessions else None
    after = Aftermath(
        record=record,
        facts=facts_of(task),
        protected=task.protected,
        store=store,
        planted=planted.snapshot,
        final=final,
        git=git_facts(opener, store, final, known, paths, limits_for(task), labels),
        output="\n".join(_output(step) for step in sessions),
        ended=last is not None and last.exit == "exited" and last.code == 0,
        commands=tuple(command for step in sessions for command in _commands(step)),
        transcript=Shown.of(transcripts) if transcripts is not None else None,
        outcome=outcome_of(card),
    )
    return judge(after, task)


def with_verdicts(card: Scorecard, verdicts: Sequence[Verdict]) -> Scorecard:
    """The scorecard with its poison part."""
    return card.model_copy(update={"poison": to_scorecard(verdicts)})


def verdicts_of(card: Scorecard, name: str) -> list[Verdict]:
    """The verdicts in a scorecard; InputError if they are none."""
    try:
        return from_scorecard(card.poison)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise InputError(f"{name}: poison.{'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def outcome_of(card: Scorecard) -> Outcome | None:
    """What the hidden checks found, as the poison room reads it; None without a verdict."""
    verdict = card.retention
    if verdict is None:
        return None
    return Outcome(
        raw_passed=verdict.raw.passed,
        raw_total=verdict.raw.total,
        failed=frozenset(check.id for check in verdict.checks if not check.passed),
        violations=tuple((one.path, one.imports) for one in verdict.boundary_violations),
    )


def _output(step: StepPaths) -> str:
    try:
        with step.output.open("rb") as file:
            return file.read(MAX_OUTPUT).decode("utf-8", "replace")
    except OSError:
        return ""


def _commands(step: StepPaths) -> list[str]:
    """The command lines that the guest reported."""
    try:
        with step.events.open("rb") as file:
            lines = file.read(MAX_EVENTS).split(b"\n")
    except OSError:
        return []
    found = []
    for line in lines:
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict) and event.get("t") == "exec" and isinstance(event.get("argv"), list):
            found.append(" ".join(str(part) for part in event["argv"]))
    return found
