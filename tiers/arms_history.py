"""Arms whose workspace has no git repository until the last session: when it comes, and what it is."""

from __future__ import annotations

import heapq
from collections.abc import Container, Iterator

from ..sandbox.caps import Caps
from ..sandbox.items import Content, plain_file, whole_tree
from ..sandbox.snapshot import Snapshot
from ..sandbox.store import SnapshotStore
from ..sandbox.tree import TreeItem, canonical_key
from ..sandbox.workspace import BRANCH
from .arms import Arm
from .task import SessionStep
from .trialtask import TrialTask

REPOSITORY = ".git"
CHUNK = 1 << 18

Items = tuple[tuple[TreeItem, bytes], ...]


def prepare_for_session(arm: Arm, task: TrialTask, number: int, total: int, present: Container[str]) -> Items:
    """What the workspace gets before session `number` of `total`: an empty repository, or nothing.

    `present`: the paths of the workspace. A repository that an agent made itself is left alone.
    """
    if arm.has_repository or number != _first_with_repository(task, total) or REPOSITORY in present:
        return ()
    return empty_repository(task)


def prepared(store: SnapshotStore, current: Snapshot, more: Items) -> Snapshot:
    """The snapshot with these items added; itself if there are none."""
    if not more:
        return current
    # A workspace that is as large as one may be has room for a repository all the same.
    most = Caps()
    caps = Caps(most.max_files + len(more), most.max_bytes + sum(len(content) for _, content in more))
    streams: Iterator[tuple[TreeItem, Content]] = store.open(current.sha256)
    with store.writer(caps) as writer:
        for item, content in heapq.merge(streams, more, key=lambda pair: canonical_key(pair[0].path)):
            writer.add(item, _chunks(content))
        return writer.finish(complete=current.complete, omitted=current.omitted)


def _chunks(content: Content) -> Iterator[bytes]:
    if isinstance(content, bytes):
        yield content
        return
    while chunk := content.read(CHUNK):
        yield chunk


def empty_repository(task: TrialTask) -> Items:
    """`.git` as `git init` leaves it: no commit, nothing tracked; its user is the author of the task's last commit."""
    last = task.commits[-1]
    config = (
        "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n"
        f"[user]\n\tname = {last.author}\n\temail = {last.email}\n"
    )
    files = {"HEAD": f"ref: refs/heads/{BRANCH}\n", "config": config}
    items: list[tuple[TreeItem, Content]] = [
        (plain_file(f"{REPOSITORY}/{name}", text.encode()), text.encode()) for name, text in files.items()
    ]
    folders = ("objects/info", "objects/pack", "refs/heads", "refs/tags")
    items += [(TreeItem(f"{REPOSITORY}/{name}", "d", 0o755), b"") for name in folders]
    return tuple((item, content) for item, content in whole_tree(items) if isinstance(content, bytes))


def _first_with_repository(task: TrialTask, total: int) -> int:
    """The last session, or an earlier one whose cutoff waits for a commit: without a repository it never would fall."""
    waiting = [step.number for step in task.steps if isinstance(step, SessionStep) and step.armed is not None]
    return min([total, *waiting])
