"""The git history of a codebase: like a project's own, and nothing later than the release in any corner of it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from past import findings, git
from small_codebase import Shipped

from takeover.repos.load import load_repo_task
from takeover.repos.task import RepoTask
from takeover.sandbox.store import SnapshotStore
from takeover.tiers.arms import load_arm
from takeover.trials.start import starting_snapshot


def built(task: RepoTask, store: SnapshotStore, root: Path, arm: str = "Vanilla") -> Path:
    """The repository that session 1 starts in."""
    store.extract(starting_snapshot(task, load_arm(arm, task), store).sha256, root)
    return root


def wrong(task: RepoTask, root: Path) -> list[str]:
    last = task.commits[-1].date.date().isoformat()
    later = {bug.fixed_in for bug in task.known.bugs if bug.fixed_in} | {task.known.newest or "999"}
    return findings(root, task.known.archive.version, last, later)


@pytest.mark.parametrize("arm", ["Vanilla", "State_MD_Only"])
@pytest.mark.parametrize("name", ["click", "isort"])
def test_nothing_is_later_than_the_release(
    shipped: Shipped, store: SnapshotStore, tmp_path: Path, name: str, arm: str
) -> None:
    """No tag, no other branch, no object, setting, date or change log that a clone of that day would not have."""
    task = shipped(name)
    assert wrong(task, built(task, store, tmp_path / "w", arm)) == []


@pytest.mark.parametrize("name", ["click", "isort"])
def test_it_reads_like_a_project(shipped: Shipped, store: SnapshotStore, tmp_path: Path, name: str) -> None:
    """Several commits by its maintainers over days or weeks, each about one part; the last one is the release."""
    task = shipped(name)
    root = built(task, store, tmp_path / "w")
    log = git(root, "log", "--format=%ae %as %s").splitlines()
    assert len(log) == len(task.commits) >= 5
    assert len({line.split()[1] for line in log}) >= 4
    assert {line.split()[0] for line in log} == {f"maintainers@{name}.example"}
    assert task.known.archive.version in log[0]
    assert sorted(git(root, "ls-files", "-z").rstrip("\0").split("\0")) == sorted(task.files)


def run(root: Path, *words: str, data: str | None = None, date: str = "2021-01-02T00:00:00+00:00") -> str:
    """A git command as the last author, on the day of the release unless said otherwise."""
    who = {f"GIT_{role}_{part}": value for role in ("AUTHOR", "COMMITTER") for part, value in
           (("NAME", "Ida"), ("EMAIL", "ida@tally.example"), ("DATE", date))}  # fmt: skip
    environment = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, **who}
    done = subprocess.run(["git", *words], cwd=root, input=data, capture_output=True, text=True, check=True, env=environment)  # fmt: skip
    return done.stdout.strip()


def committed(
    root: Path, name: str, text: str, message: str = "Notes", date: str = "2021-01-02T00:00:00+00:00"
) -> None:
    """One more commit, on the day of the release unless said otherwise."""
    (root / name).write_text(text)
    run(root, "add", name)
    run(root, "commit", "-qm", message, date=date)


def dangling_commit(root: Path) -> None:
    tree = run(root, "rev-parse", "HEAD^{tree}")
    run(root, "commit-tree", tree, "-p", "HEAD", "-m", "Fix it")


def packed(root: Path) -> None:
    """An object that nothing leads to, in a pack, where no loose file shows it."""
    name = run(root, "hash-object", "-w", "--stdin", data="def total(xs):\n    return sum(xs)\n")
    run(root, "pack-objects", "-q", ".git/objects/pack/pack", data=name + "\n")
    (root / ".git/objects" / name[:2] / name[2:]).unlink()


def written(path: str, text: str) -> Callable[[Path], object]:
    def write(root: Path) -> None:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)

    return write


PLANTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a tag": (lambda root: run(root, "tag", "1.1"), "reference commit refs/tags/1.1"),
    "an annotated tag": (lambda root: run(root, "tag", "-am", "next", "1.1"), "reference tag refs/tags/1.1"),
    "a branch": (lambda root: run(root, "branch", "next"), "reference commit refs/heads/next"),
    "a remote's branch": (
        lambda root: run(root, "update-ref", "refs/remotes/origin/main", "HEAD"),
        "reference commit refs/remotes/origin/main",
    ),
    "a note": (lambda root: run(root, "notes", "add", "-m", "fixed by"), "reference commit refs/notes/commits"),
    "a stash": (
        lambda root: (written("README.md", "x\n")(root), run(root, "stash", "-q")),
        "reference commit refs/stash",
    ),
    "a loose object": (
        lambda root: run(root, "hash-object", "-w", "--stdin", data="the fix\n"),
        "that no commit leads to",
    ),
    "a packed object": (packed, "that no commit leads to"),
    "a commit on no branch": (dangling_commit, "that no commit leads to"),
    "an object elsewhere": (written(".git/objects/info/alternates", "/nowhere/objects\n"), "of another repository"),
    "a commit that was taken back": (
        lambda root: (committed(root, "a.txt", "x\n"), run(root, "reset", "-q", "--hard", "HEAD~")),
        ".git/logs/HEAD leads to",
    ),
    "a fetch": (written(".git/FETCH_HEAD", "0" * 40 + "\tbranch 'main' of somewhere\n"), ".git/FETCH_HEAD"),
    "packed references": (lambda root: run(root, "pack-refs", "--all"), ".git/packed-refs"),
    "a remote": (lambda root: run(root, "remote", "add", "origin", "../up"), "setting remote.origin.url"),
    "a hook": (written(".git/hooks/post-checkout", "#!/bin/sh\n"), ".git/hooks/post-checkout"),
    "a graft": (written(".git/info/grafts", ""), ".git/info/grafts"),
    "a file beside": (written("fix.patch", "x\n"), "the work tree is not that of HEAD"),
    "an ignored file": (written("build/new.txt", "x\n"), "the work tree is not that of HEAD"),
    "a later commit": (lambda root: committed(root, "a.txt", "x\n", date="2021-02-01T00:00:00+00:00"), "of 2021-02-01"),
    "an earlier commit": (
        lambda root: committed(root, "a.txt", "x\n", date="2020-02-01T00:00:00+00:00"),
        "is older than its parent",
    ),
    "a telling message": (lambda root: committed(root, "a.txt", "x\n", "As in 999"), "speaks of 999"),
    "an empty commit": (lambda root: run(root, "commit", "-qm", "x", "--allow-empty"), "changes nothing"),
    "a later change log": (lambda root: committed(root, "CHANGES.rst", "Version 1.1\n-----------\n"), "speaks of 1.1"),
    "a later markdown log": (lambda root: committed(root, "CHANGELOG.md", "### 1.0.1 May 3\n"), "speaks of 1.0.1"),
    "a later date": (lambda root: committed(root, "NEWS", "Released 2021-03-04\n"), "speaks of 2021-03-04"),
}


@pytest.mark.parametrize("plant", PLANTS)
def test_what_is_later_is_found(folder: Path, store: SnapshotStore, tmp_path: Path, plant: str) -> None:
    """The inspection finds each of these in a repository in which it finds nothing without it."""
    task = load_repo_task(folder)
    root = built(task, store, tmp_path / "w")
    assert wrong(task, root) == []
    plant_it, said = PLANTS[plant]
    plant_it(root)
    assert [one for one in wrong(task, root) if said in one] != []


def test_a_history_of_one_commit_is_found(tmp_path: Path) -> None:
    """All of a project in one commit is nobody's history."""
    root = tmp_path / "w"
    root.mkdir()
    run(root, "init", "-q", "-b", "main")
    committed(root, "a.txt", "x\n")
    assert "one commit holds everything" in findings(root, "1.0", "2021-01-02")
