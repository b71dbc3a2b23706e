"""Arms without a git repository until the last session."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from takeover.sandbox.snapshot import Omission
from takeover.sandbox.store import SnapshotStore
from takeover.sandbox.workspace import Identity, build_repository
from takeover.tiers.arms import Arm, load_arm, starting_files, starting_history
from takeover.tiers.arms_history import empty_repository, prepare_for_session, prepared
from takeover.tiers.task import SessionStep, Task


@pytest.fixture(name="late")
def _late(fintech: Task) -> Arm:
    return load_arm("State_MD_In_Place_Late_Git", fintech)


def git(folder: Path, *command: str) -> str:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
    done = subprocess.run(["git", *command], cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def test_it_starts_without_history(fintech: Task, late: Arm) -> None:
    """The files of a full arm, and no commit to build a repository from."""
    assert starting_history(fintech, late) == []
    assert starting_files(fintech, late) == starting_files(fintech, load_arm("State_MD_In_Place", fintech))


@pytest.mark.parametrize(
    ("number", "total", "present", "given"),
    [
        (1, 2, (), False),
        (2, 2, (), True),
        (3, 4, (), False),
        (4, 4, (), True),
        (1, 1, (), True),
        (2, 2, (".git",), False),
        (2, 2, (".gitignore", "a/.git"), True),
    ],
)
def test_when_the_repository_comes(
    fintech: Task, late: Arm, number: int, total: int, present: tuple[str, ...], given: bool
) -> None:
    """Before the last session and no other; not where an agent made one."""
    assert bool(prepare_for_session(late, fintech, number, total, present)) == given
    assert prepare_for_session(load_arm("State_MD_In_Place", fintech), fintech, number, total, present) == ()


def test_a_cutoff_that_waits_for_a_commit_has_a_repository(fintech: Task, late: Arm) -> None:
    """Where session 1 must commit first, the repository is there from the start, and comes once."""
    steps = (SessionStep(1, "sprint.md", "first-edit", "first-commit"), SessionStep(2, "continue.md", "none"))
    task = replace(fintech, steps=steps)

    assert prepare_for_session(late, task, 1, 2, ()) == empty_repository(task)
    assert prepare_for_session(late, task, 2, 2, ()) == ()


def test_it_is_what_git_init_makes(fintech: Task, store: SnapshotStore) -> None:
    """Byte for byte what git itself leaves for the same user."""
    last = fintech.commits[-1]
    made = build_repository({}, [], store, Identity(last.author, last.email))
    found = [(item.path, item.kind, item.mode, stream.read()) for item, stream in store.open(made.sha256)]

    assert [(item.path, item.kind, item.mode, data) for item, data in empty_repository(fintech)] == found


def test_the_workspace_goes_on_in_it(fintech: Task, late: Arm, store: SnapshotStore, tmp_path: Path) -> None:
    """All that the sessions left is untracked; nothing else has changed, and the agent can commit."""
    files = starting_files(fintech, late)
    before = replace(store.put_files(files), complete=False, omitted=(Omission("pipe", "fifo"),))
    after = prepared(store, before, prepare_for_session(late, fintech, 2, 2, before.manifest))
    changes = before.manifest.diff(after.manifest)

    assert (changes.removed, changes.changed) == ((), ())
    assert {path.split("/")[0] for path in changes.added} == {".git"}
    assert (after.complete, after.omitted) == (before.complete, before.omitted)
    assert prepared(store, before, ()) is before

    folder = tmp_path / "workspace"
    store.extract(after.sha256, folder)
    assert all(line.startswith("?? ") for line in git(folder, "status", "--porcelain").splitlines())
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "All of it")
    assert set(git(folder, "ls-files").splitlines()) == set(files)
    assert git(folder, "log", "--format=%an <%ae>") == f"{fintech.commits[-1].author} <{fintech.commits[-1].email}>\n"
