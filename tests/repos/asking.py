"""Asking probes of a codebase's package on this machine: for releases and patches that are trusted."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from takeover.grader.local import unsafe_local_channel
from takeover.grader.subject import Observed, Subject
from takeover.repos.reference import Reference, mended
from takeover.repos.task import RepoTask


def answers(task: RepoTask, files: Mapping[str, bytes], root: Path) -> dict[str, Observed]:
    """What each probe of the task comes to over the package of a workspace, written below `root`."""
    home = "/".join((*task.folders, task.package)) + "/"
    for path, data in files.items():
        if path.startswith(home):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(data)
    with unsafe_local_channel(root) as channel:
        subject = Subject(channel)
        return {bug.id: subject.probe(bug.probe, *task.folders) for bug in task.bugs}


def flipped(task: RepoTask, reference: Reference, bugs: Collection[str], root: Path) -> tuple[set[str], set[str]]:
    """What the edits of some bugs do: the probes that they make right, and those that they make wrong in another way."""
    seen = answers(task, mended(task.files, reference, bugs), root)
    right = {bug.id for bug in task.bugs if gives(seen[bug.id], bug.expected)}
    return right, {bug.id for bug in task.bugs if bug.id not in right and not gives(seen[bug.id], bug.base)}


def gives(observed: Observed, value: object) -> bool:
    """Whether a probe came to this value; an error is no value."""
    return observed.outcome.how == "value" and observed == value
