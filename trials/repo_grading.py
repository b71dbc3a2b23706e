"""What grading a real codebase has beside its probes: the release's own tests, and how the work was done."""

from __future__ import annotations

from collections.abc import Mapping

from ..grader.checks import CheckResult
from ..grader.grade import Beside
from ..grader.scorecard import Note
from ..grader.text import one_line, path_text
from ..repos.conduct import remarks
from ..repos.task import RepoTask
from ..repos.visible import ID, VisibleVerdict, run_visible
from ..sandbox.engine import Opener
from ..sandbox.snapshot import Snapshot
from ..sandbox.store import SnapshotStore

EVIDENCE = 600


def beside(
    engine: Opener,
    store: SnapshotStore,
    task: RepoTask,
    final: Snapshot,
    sources: Mapping[str, bytes],
    labels: Mapping[str, str],
) -> Beside:
    """The release's own tests as a check of the baseline, and a note for each thing that a reader should know."""
    verdict = run_visible(engine, store, task, final, labels)
    notes = [
        Note(kind=one.kind, path=path_text(one.path), detail=one_line(one.detail))
        for one in remarks(task, final.manifest, sources)
    ]
    if verdict is not None and verdict.tampered:
        notes.append(Note(kind="tampered", detail=one_line(verdict.evidence)))
    return Beside(() if verdict is None else (_check(verdict),), tuple(notes))


def _check(verdict: VisibleVerdict) -> CheckResult:
    return CheckResult(
        ID,
        verdict.passed,
        one_line(verdict.evidence, EVIDENCE),
        error_kind=None if verdict.passed else "tampered" if verdict.tampered else "assertion",
    )
