"""What a trial starts from: the pristine repository of a task in an arm."""

from __future__ import annotations

from ..sandbox.snapshot import Snapshot
from ..sandbox.store import SnapshotStore
from ..sandbox.workspace import Identity, build_repository
from ..tiers.arms import Arm, starting_files, starting_history
from ..tiers.trialtask import TrialTask


def starting_snapshot(task: TrialTask, arm: Arm, store: SnapshotStore) -> Snapshot:
    """The workspace before session 1, with its history where the arm has one.

    The agent commits under the name of the last author.
    """
    if not arm.has_repository:
        return store.put_files(starting_files(task, arm))
    last = task.commits[-1]
    return build_repository(
        starting_files(task, arm), starting_history(task, arm), store, Identity(name=last.author, email=last.email)
    )
