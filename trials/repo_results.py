"""What a run on real codebases came to beside what was predicted, and what it cost: from its folder alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from ..grader.scorecard import Scorecard
from ..grader.summary import Table
from ..repos.predictions import thawed
from ..repos.rereads import Rereads, session_rereads
from ..repos.results import HEADINGS, SessionCost, TrialCost, cells_of, table
from ..sandbox.errors import InputError, StorageError
from ..sandbox.sandbox import WORKSPACE
from ..sandbox.store import SnapshotStore
from ..sandbox.transcript.sniff import import_file
from ..sandbox.transcript.spans import Span, line_count
from ..sandbox.transcript.views import extract_spans
from .cells import check_inside, read_meta_within
from .identity import read_identity
from .record import RunPaths, TrialPaths, read_json
from .sessions import SessionMeta

TITLE = "Predicted, resolved, and what it cost"
KEY = "costs"
COUNTED = ("graded", "agent_failure")
MAX_TRANSCRIPT = 256 << 20
MAX_FILE = 1 << 20


def cost_tables(paths: RunPaths, cards: Mapping[str, Scorecard]) -> tuple[Table, ...]:
    """The table of a run that has a codebase among its tasks, or predictions; none for any other."""
    if not paths.identity.is_file():
        return ()
    identity = read_identity(paths.identity)
    told = identity.predictions
    predictions = None if told is None else thawed(told.sha256, told.predictions)
    # Codebases, and whatever somebody predicted something of.
    shown = {task.id for task in identity.tasks if task.codebase}
    shown |= {one.task for one in predictions.entries} if predictions else set()
    planned = [name for name in identity.trials if name in cards]
    counted = {name: cards[name] for name in planned if cards[name].task in shown and cards[name].outcome in COUNTED}
    if not counted:
        return ()
    totals = {(card.task, str(card.variant)): card.retention.raw.total for card in counted.values() if card.retention}
    costs = [
        _cost(paths, paths.trial(name), card, totals.get((card.task, str(card.variant)), 0))
        for name, card in counted.items()
    ]
    rows = table(costs, predictions)
    return (Table(KEY, TITLE, HEADINGS, tuple(map(cells_of, rows)), tuple(asdict(row) for row in rows)),)


def _cost(run: RunPaths, trial: TrialPaths, card: Scorecard, total: int) -> TrialCost:
    verdict = card.retention
    metas = [_meta(run, trial, number) for number, _ in enumerate(card.sessions, 1)]
    seconds = _seconds(run, trial)
    return TrialCost(
        task=card.task,
        variant=str(card.variant),
        arm=card.arm,
        agent=card.agent,
        resolved=verdict.raw.passed if verdict else 0,
        net=verdict.net if verdict else 0,
        total=total,
        sessions=tuple(_session(meta, seconds.get(number)) for number, meta in enumerate(metas, 1)),
        rereads=_rereads(run, trial, metas),
        told=card.tokens.total,
    )


def _meta(run: RunPaths, trial: TrialPaths, number: int) -> SessionMeta | None:
    try:
        return read_meta_within(trial.step(number, "session"), run.root)
    except InputError:
        return None


def _session(meta: SessionMeta | None, seconds: float | None) -> SessionCost:
    usage = None if meta is None else meta.usage
    return SessionCost(None, None, seconds) if usage is None else SessionCost(usage.turns, usage.tokens, seconds)


def _seconds(run: RunPaths, trial: TrialPaths) -> dict[int, float]:
    """How long the agent of each session worked; a session of an earlier attempt is not among them."""
    try:
        check_inside(trial.timing, run.root, MAX_FILE)
        timing = read_json(trial.timing)
    except InputError:
        return {}
    steps = timing.get("steps") if isinstance(timing, dict) else None
    found = {}
    for step in steps if isinstance(steps, list) else []:
        name, _, kind = str(step.get("step")).partition("-") if isinstance(step, dict) else ("", "", "")
        if kind == "session" and name.isdecimal() and isinstance(step.get("run"), int | float):
            found[int(name)] = float(step["run"])
    return found


def _rereads(run: RunPaths, trial: TrialPaths, metas: Sequence[SessionMeta | None]) -> Rereads | None:
    """How much of what session 1 had looked at was looked at again; None where a transcript is missing."""
    looks = [_looks(run, trial, number) for number, _ in enumerate(metas, 1)]
    known = [spans for spans in looks if spans is not None]
    if len(known) < len(looks) or not metas or metas[0] is None:
        return None
    seen = {span.path for spans in known for span in spans}
    return session_rereads(known, _lengths(run, metas[0], seen))


def _looks(run: RunPaths, trial: TrialPaths, number: int) -> Sequence[Span] | None:
    path = trial.step(number, "session").transcript
    try:
        check_inside(path, run.root, MAX_TRANSCRIPT)
        transcript, _ = import_file(path)
    except InputError:
        return None
    return extract_spans(transcript, root=WORKSPACE)


def _lengths(run: RunPaths, cut: SessionMeta, paths: set[str]) -> dict[str, int]:
    """The lines of these files at the cutoff."""
    sha256 = cut.session.snapshot.removeprefix("sha256:")
    try:
        texts = SnapshotStore(run.snapshots).read_files(
            sha256, lambda item: item.path in paths and item.size <= MAX_FILE
        )
    except (InputError, StorageError):
        return {}
    return {path: line_count(data.decode("utf-8", "replace")) for path, data in texts.items()}
