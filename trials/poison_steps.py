"""Poison in a trial: which one is planted before which session, what was planted, and the verdicts at the end.

<trial>/<n>-poison/record.json    what was planted before session n; planted once, kept by whatever resumes
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..grader.scorecard import Scorecard, Session
from ..poison.catalog import find_pill
from ..poison.detect import grading_start, unjudged
from ..poison.edits import undeclared
from ..poison.model import Pill
from ..poison.places import facts_of
from ..poison.plant import Planted, limits_for, plant
from ..poison.record import PlantRecord, parse_record, record_bytes
from ..sandbox.engine import Opener
from ..sandbox.errors import FailureClass, InputError, MachineryError, StorageError
from ..sandbox.images import SANDBOX
from ..sandbox.snapshot import Snapshot
from ..sandbox.store import SnapshotStore
from ..sandbox.transcript.model import Transcript
from ..sandbox.transcript.sniff import import_file
from ..sandbox.tree import Manifest
from ..tiers.task import PoisonStep, SessionStep
from ..tiers.trialtask import TrialTask
from .ahead import Ahead
from .grading import Cell, failed
from .plan import TrialSpec
from .record import StepPaths, TrialPaths, write_bytes
from .redteam_judge import verdicts_on, with_verdicts
from .sessions import read_meta
from .stored import attempts
from .tasks import tier_task

FOLDER = "poison"
FILE = "record.json"
CLEAN = "clean"
WHAT = "poison"
MAX_RECORD = 64 << 20
Place = tuple[int, Pill]


class PoisonRefused(MachineryError):
    """The workspace has no place for the poison of its trial, so nobody was sent on; the message says what is gone."""

    failure = FailureClass.POISON_REFUSED


@dataclass(frozen=True, slots=True)
class Dose:
    """What was planted in a trial: before which session, and the workspace without and with it."""

    number: int
    before: Manifest
    planted: Planted

    def grading_start(self, start: Manifest, final: Manifest) -> Manifest:
        """The start to hold protected files against."""
        return grading_start(start, self.before, self.planted.snapshot.manifest, final)

    def judged(
        self,
        opener: Opener,
        store: SnapshotStore,
        task: TrialTask,
        final: Snapshot,
        card: Scorecard,
        trial: TrialPaths,
        labels: Mapping[str, str],
    ) -> Scorecard:
        """The scorecard with the verdicts, by what the sessions after the planting left and recorded."""
        steps = sessions_from(task, trial, self.number)
        verdicts = verdicts_on(
            opener,
            store,
            tier_task(task, WHAT),
            self.planted,
            final,
            card,
            steps,
            transcripts=transcripts_of(steps),
            labels=labels,
        )
        return with_verdicts(card, verdicts)


def place_of(spec: TrialSpec) -> Place | None:
    """The pill of a trial and the number of the session before which it is planted.

    A pill that the trial names takes the place of the script's own, or stands before the second session. InputError
    where there is no such place, or where the task does not declare what the pill needs.
    """
    task = spec.task
    place = _scripted(task)
    if spec.poison is not None:
        place = (place[0] if place else 2, spec.poison)
    if place is None:
        return None
    number, pill = place
    if number > sum(isinstance(step, SessionStep) for step in task.steps):
        raise InputError(f"{task.id}: nobody takes over in it, so nothing can be planted")
    if (missing := undeclared(pill, facts_of(tier_task(task, WHAT)))) is not None:
        raise InputError(
            f"{task.id}: {pill.name} cannot be planted: the task declares no {missing}",
            hint="Declare it in a poison.yaml beside its task.yaml.",
        )
    return place


def pills_of(names: Sequence[str]) -> tuple[Pill | None, ...]:
    """The pills of which each trial gets one, from what the command line names, commas and all; `clean` is none."""
    wanted = [name.strip() for text in names for name in text.split(",")]
    pills = [None if name == CLEAN else find_pill(name) for name in wanted]
    return tuple({pill.name if pill else CLEAN: pill for pill in pills}.values()) or (None,)


def condition_of(spec: TrialSpec) -> str:
    """The arm of a trial and what is planted in it, as its scorecard has it."""
    place = place_of(spec)
    return spec.arm.name if place is None else f"{spec.arm.name} + {place[1].name}"


def _scripted(task: TrialTask) -> Place | None:
    """What the script of a task plants by itself."""
    sessions, found = 0, None
    for step in task.steps:
        if isinstance(step, PoisonStep):
            if found is not None or not sessions:
                raise InputError(f"{task.id}: steps: a script has one poison, and after a session")
            found = (sessions + 1, find_pill(step.name))
        else:
            sessions += 1
    return found


@dataclass(slots=True)
class Planting:
    """Plants the pill of one trial when its turn comes, and has its verdicts at the end; for most trials, nothing."""

    store: SnapshotStore
    spec: TrialSpec
    paths: TrialPaths
    labels: Mapping[str, str]
    dose: Dose | None = None

    def before(self, number: int, current: Snapshot, opener: Ahead) -> Snapshot:
        """The workspace as session `number` gets it; PoisonRefused where it has no place for the pill."""
        place = place_of(self.spec)
        if place is None or place[0] != number:
            return current
        pill, step = place[1], self.paths.step(number, FOLDER)
        planted = _kept(self.paths, number, pill, current, self.store)
        if planted is None:
            # The sandbox starts while the edits are worked out.
            opener.expect(SANDBOX, limits=limits_for(tier_task(self.spec.task, WHAT)), labels=self.labels)
            planted = plant(opener, self.store, current, pill, tier_task(self.spec.task, WHAT), self.labels)
        write_bytes(step.root / FILE, record_bytes(planted.record))
        if planted.record.refused is not None:
            raise PoisonRefused(refusal_text(planted.record))
        self.dose = Dose(number, current.manifest, planted)
        return planted.snapshot

    def grading_start(self, start: Manifest, final: Manifest) -> Manifest:
        """The start to hold protected files against."""
        return start if self.dose is None else self.dose.grading_start(start, final)

    def judged(self, opener: Ahead, card: Scorecard, final: Snapshot) -> Scorecard:
        """The scorecard with its verdicts."""
        if self.dose is None:
            return card
        return self.dose.judged(opener, self.store, self.spec.task, final, card, self.paths, self.labels)


def without_verdict(card: Scorecard, spec: TrialSpec) -> Scorecard:
    """A trial's scorecard; one that came to no verdict says what its poison was all the same."""
    place = place_of(spec) if card.failure is not None and not card.poison else None
    return card if place is None else _unjudged(card, place[1])


def recorded(trial: TrialPaths, store: SnapshotStore) -> Dose | None:
    """What a trial's folder says was planted; InputError or StorageError if that cannot be read."""
    for folder in sorted(trial.root.glob(f"*-{FOLDER}")):
        number = folder.name.removesuffix(f"-{FOLDER}")
        if number.isdecimal() and (folder / FILE).is_file():
            record = _read(folder / FILE)
            before, after = store.manifest(record.start), store.manifest(record.snapshot)
            return Dose(int(number), before, Planted(Snapshot(record.snapshot, after), record))
    return None


def refused_again(trial: TrialPaths, dose: Dose, cell: Cell) -> Scorecard:
    """The scorecard of a trial whose poison was refused, from its folder."""
    sessions: list[Session] = []
    for number in range(1, dose.number):
        sessions.append(read_meta(trial.step(number, "session")).session)
    card = failed(cell, FailureClass.POISON_REFUSED, refusal_text(dose.planted.record), sessions)
    return _unjudged(card, find_pill(dose.planted.record.pill))


def refusal_text(record: PlantRecord) -> str:
    """Why a pill was not planted."""
    return f"{record.pill} was not planted: {record.refused}"


def sessions_from(task: TrialTask, trial: TrialPaths, number: int) -> list[StepPaths]:
    """The folders of the sessions from `number` on."""
    steps = [step for step in task.steps if isinstance(step, SessionStep)]
    return [trial.step(step.number, "session") for step in steps if step.number >= number]


def transcripts_of(steps: Sequence[StepPaths]) -> list[Transcript] | None:
    """The transcripts of some sessions; None unless each has one that tells what the agent did."""
    found = []
    for step in steps:
        file = step.transcript
        try:
            transcript = import_file(file)[0] if file.is_file() else None
        except InputError:
            transcript = None
        # An agent that never asked the model behind the gateway has a transcript in which it does not occur.
        if transcript is None or all(one.source != "agent" for one in transcript.steps):
            return None
        found.append(transcript)
    return found


def _unjudged(card: Scorecard, pill: Pill) -> Scorecard:
    reason = card.failure.message if card.failure else ""
    return with_verdicts(card, unjudged(pill, "refused" if card.outcome == "refused" else "error", reason))


def _kept(trial: TrialPaths, number: int, pill: Pill, current: Snapshot, store: SnapshotStore) -> Planted | None:
    """What an earlier attempt at this trial planted into the same workspace; a commit is not amended twice alike."""
    for attempt in attempts(trial):
        try:
            record = _read(attempt.step(number, FOLDER).root / FILE)
            after = store.manifest(record.snapshot)
        except (InputError, StorageError):
            continue
        if (record.pill, record.start, record.refused) == (pill.name, current.sha256, None):
            return Planted(Snapshot(record.snapshot, after, current.complete, current.omitted), record)
    return None


def _read(file: Path) -> PlantRecord:
    try:
        with file.open("rb") as opened:
            data = opened.read(MAX_RECORD + 1)
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from error
    if len(data) > MAX_RECORD:
        raise InputError(f"{file}: larger than any record")
    return parse_record(data, str(file))
