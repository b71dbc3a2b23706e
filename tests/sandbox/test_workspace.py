"""The pristine repository of a task: the same bytes everywhere, and only what the task says."""

from __future__ import annotations

import dataclasses
import os
import subprocess
from pathlib import Path

import pytest

from takeover.sandbox.errors import InputError
from takeover.sandbox.snapshot import Snapshot
from takeover.sandbox.store import SnapshotStore
from takeover.sandbox.workspace import CommitSpec, Identity, build_repository

HISTORY = (
    CommitSpec(
        "Start",
        "Ada",
        "ada@example.com",
        "2026-01-05T09:00:00+00:00",
        {"a.py": b"x = 1\n", "pkg/b.py": b"b\n", "run.sh": b"#!/bin/sh\n", ".gitignore": b"*.log\n"},
    ),
    CommitSpec("Drop b\n\nIt was unused.", "Bo", "bo@example.com", "2026-01-06T10:00:00+01:00", {"pkg/b.py": None}),
)
FILES = {"a.py": b"x = 1\n", "run.sh": b"#!/bin/sh\n", ".gitignore": b"*.log\n"}


def git(folder: Path, *arguments: str) -> str:
    env = {
        "PATH": os.environ["PATH"],
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "HOME": "/nonexistent",
    }
    return subprocess.run(
        ["git", *arguments], cwd=folder, env=env, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def checkout(store: SnapshotStore, tmp_path: Path) -> Path:
    snapshot = build_repository(FILES, HISTORY, store)
    store.extract(snapshot.sha256, tmp_path / "checkout")
    return tmp_path / "checkout"


def test_hashes_are_the_same_on_every_machine(checkout: Path) -> None:
    """Authors, dates and contents are fixed, so the commits have known names."""
    assert git(checkout, "log", "--format=%H %an <%ae> %aI %cI %s").splitlines() == [
        "6dc7b8920c098c3107e8bd35ca2518b70cd43093 Bo <bo@example.com> 2026-01-06T10:00:00+01:00 2026-01-06T10:00:00+01:00 Drop b",
        "6e5daca2e29b7f7b6a3f9d8c91e398f5fe270a4c Ada <ada@example.com> 2026-01-05T09:00:00+00:00 2026-01-05T09:00:00+00:00 Start",
    ]


def test_the_repository_is_sound_and_clean(checkout: Path) -> None:
    """fsck finds nothing, the working tree is that of the last commit, the agent can commit at once."""
    assert git(checkout, "fsck", "--strict", "--no-progress") == ""
    assert git(checkout, "status", "--porcelain", "--ignored") == ""
    assert git(checkout, "symbolic-ref", "HEAD") == "refs/heads/main"
    (checkout / "a.py").write_bytes(b"x = 2\n")
    git(checkout, "commit", "-qam", "More")
    assert git(checkout, "log", "-1", "--format=%an") == Identity().name


def test_nothing_is_there_that_nobody_asked_for(checkout: Path) -> None:
    """No hooks, no samples, no remote, no stash, no unreachable object, no path of this machine."""
    assert not (checkout / ".git/hooks").exists()
    assert not (checkout / ".git/description").exists()
    assert git(checkout, "remote") == ""
    assert git(checkout, "stash", "list") == ""
    assert git(checkout, "fsck", "--unreachable", "--no-reflogs", "--no-progress") == ""
    assert len(git(checkout, "reflog").splitlines()) == len(HISTORY)
    for path in checkout.rglob("*"):
        if path.is_file():
            assert b"takeover" not in path.read_bytes()


def test_what_differs_from_the_last_commit_is_uncommitted(store: SnapshotStore, tmp_path: Path) -> None:
    """`files` is what the working tree holds, exactly."""
    snapshot = build_repository({"a.py": b"x = 2\n", "state.md": b"notes"}, HISTORY, store)
    store.extract(snapshot.sha256, tmp_path / "out")

    told = {line.strip() for line in git(tmp_path / "out", "status", "--porcelain").splitlines()}
    assert told == {"D .gitignore", "M a.py", "D run.sh", "?? state.md"}


def built(tmp_path: Path, name: str) -> Snapshot:
    return build_repository(FILES, HISTORY, SnapshotStore(tmp_path / name))


def test_the_hosts_git_settings_do_not_reach_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hostile home, an enclosing hook's variables and another umask give the same bytes."""
    plain = built(tmp_path, "plain")
    home = tmp_path / "home"
    (home / "templates/hooks").mkdir(parents=True)
    (home / "templates/hooks/pre-commit").write_text("#!/bin/sh\nexit 1\n")
    (home / "templates/hooks/pre-commit").chmod(0o755)
    (home / ".gitconfig").write_text(
        f"[init]\n templateDir = {home}/templates\n defaultBranch = trunk\n[core]\n autocrlf = true\n fsmonitor = false\n"
        f" hooksPath = {home}/templates/hooks\n[commit]\n gpgSign = true\n[i18n]\n commitEncoding = latin1\n"
        "[user]\n name = Eve\n"
    )
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_TEMPLATE_DIR", str(home / "templates"))
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Eve")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2001-01-01T00:00:00Z")
    monkeypatch.setenv("TZ", "Pacific/Chatham")
    monkeypatch.setenv("LC_ALL", "C")
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_CONFIG_GLOBAL"):
        monkeypatch.setenv(name, str(home / "elsewhere"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.autocrlf")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "true")
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "'core.autocrlf=true'")
    before = os.umask(0o077)
    try:
        hostile = built(tmp_path, "hostile")
    finally:
        os.umask(before)

    assert hostile == plain
    assert not (home / "elsewhere").exists()


def test_the_same_workspace_is_built_once(store: SnapshotStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a process the snapshot is remembered, and made again if it is gone from the store."""
    first = build_repository(FILES, HISTORY, store)
    assert build_repository(dict(reversed(FILES.items())), HISTORY, store) is first
    store.path(first.sha256).unlink()
    again = build_repository(FILES, HISTORY, store)

    assert again.sha256 == first.sha256
    assert again.sha256 in store


def test_a_file_may_make_room_for_a_directory(store: SnapshotStore) -> None:
    """Histories in which a name changes its kind are built."""
    first, second = HISTORY
    steps = [
        dataclasses.replace(first, files={"a": b"1"}),
        dataclasses.replace(second, files={"a": None, "a/b": b"2"}),
    ]

    assert build_repository({"a/b": b"2"}, steps, store).manifest["a/b"].size == 1


@pytest.mark.parametrize("path", ["../x", "/x", "", ".git/config", ".GIT/hooks/pre-commit", "a//b", "a\0"])
def test_paths_that_lead_elsewhere_are_refused(store: SnapshotStore, path: str) -> None:
    """No file of a task can leave the workspace or be part of its repository."""
    with pytest.raises(InputError):
        build_repository({path: b""}, HISTORY, store)
    with pytest.raises(InputError):
        build_repository({}, [dataclasses.replace(HISTORY[0], files={path: b""})], store)


@pytest.mark.parametrize("change", [{"date": "yesterday"}, {"date": "2026-01-05T09:00:00"}, {"message": " \n"}])
def test_commits_need_a_message_and_a_date_with_a_zone(store: SnapshotStore, change: dict[str, str]) -> None:
    """What would depend on the machine, or not commit at all, is refused."""
    with pytest.raises(InputError):
        build_repository(FILES, [dataclasses.replace(HISTORY[0], **change)], store)
