"""Git's index without stat data: the same for the same work, and all the same to git."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from takeover.sandbox.git_index import without_stat

ENV = {
    **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
    "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
}


def git(folder: Path, *arguments: str) -> str:
    options = ["-c", "user.name=A", "-c", "user.email=a@b"]
    done = subprocess.run(
        ["git", *options, *arguments], cwd=folder, env=ENV, capture_output=True, text=True, check=True
    )
    return done.stdout


def repository(folder: Path, *options: str, now: int = 1_700_000_000) -> Path:
    """A repository with something committed, staged, changed, untracked, and intended to be added."""
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main", *[one for one in options if one.startswith("--object")])
    for number, name in enumerate(["a.py", "deep/er/b.py", "ü.txt", "x" * 150]):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{number}\n")
        os.utime(path, (now + number, now + number))
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "one")
    (folder / "a.py").write_text("changed\n")
    (folder / "staged.py").write_text("staged\n")
    git(folder, "add", "staged.py")
    (folder / "wanted.py").write_text("wanted\n")
    if "-N" in options:
        git(folder, "add", "-N", "wanted.py")
    if "-4" in options:
        git(folder, "update-index", "--index-version", "4")
    if "--skip" in options:
        git(folder, "-c", "index.skipHash=true", "update-index", "--force-write-index")
    if "--untracked" in options:
        git(folder, "update-index", "--force-untracked-cache")
        git(folder, "status")
    return folder


KINDS = [(), ("-N",), ("-4",), ("-4", "-N"), ("--object-format=sha256",), ("--skip",), ("--untracked",)]


@pytest.mark.parametrize("options", KINDS, ids=["".join(kind) or "plain" for kind in KINDS])
def test_git_sees_no_difference(tmp_path: Path, options: tuple[str, ...]) -> None:
    """What is staged, changed and untracked is the same before and after, and git finds the index sound."""
    folder = repository(tmp_path / "one", *options)
    before = git(folder, "ls-files", "-s")
    index = folder / ".git" / "index"
    original = index.read_bytes()
    made = without_stat(original)
    assert made != original
    assert without_stat(made) == made
    index.write_bytes(made)
    assert git(folder, "ls-files", "-s") == before
    debug = git(folder, "ls-files", "--debug")
    assert "ctime: 0:0" in debug
    assert "mtime: 17" not in debug
    assert "size: 0" in debug
    git(folder, "fsck", "--strict")
    states = git(folder, "status", "--porcelain").splitlines()
    wanted = " A wanted.py" if "-N" in options else "?? wanted.py"
    assert sorted(states) == sorted([" M a.py", "A  staged.py", wanted])
    git(folder, "commit", "-qm", "two")
    assert git(folder, "show", "--name-only", "--format=").split() == ["staged.py"]


@pytest.mark.parametrize("options", KINDS, ids=["".join(kind) or "plain" for kind in KINDS])
def test_the_same_work_leaves_the_same_bytes(tmp_path: Path, options: tuple[str, ...]) -> None:
    """At another time, in another place."""
    made = [
        without_stat((repository(tmp_path / name, *options, now=now) / ".git" / "index").read_bytes())
        for name, now in (("one", 1_600_000_000), ("two", 1_700_000_000))
    ]
    assert made[0] == made[1]


def test_a_workspace_in_which_nothing_was_touched_is_clean(tmp_path: Path) -> None:
    """After a copy, as a session's workspace is one, nothing is taken for changed."""
    folder = repository(tmp_path / "one")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "two")
    index = folder / ".git" / "index"
    index.write_bytes(without_stat(index.read_bytes()))
    copy = shutil.copytree(folder, tmp_path / "two")
    assert git(copy, "status", "--porcelain") == ""
    assert git(copy, "diff", "HEAD") == ""


def damaged(tmp_path: Path) -> list[bytes]:
    whole = (repository(tmp_path / "one") / ".git" / "index").read_bytes()
    body = whole[:-20]

    def summed(data: bytes) -> bytes:
        return data + hashlib.sha1(data, usedforsecurity=False).digest()

    return [
        b"",
        b"DIRC",
        whole[:-1],
        whole + b"x",
        summed(body[:60]),
        summed(b"DIRC" + (9).to_bytes(4, "big") + body[8:]),
        summed(body[:8] + (2**32 - 1).to_bytes(4, "big") + body[12:]),
        summed(body + b"abcd" + (999).to_bytes(4, "big") + b"short"),
        summed(body + b"abc"),
    ]


def test_what_is_no_index_stays_as_it_is(tmp_path: Path) -> None:
    """A workspace holds what the agent put there."""
    for data in damaged(tmp_path):
        assert without_stat(data) == data


@given(st.binary(max_size=300), st.sampled_from([2, 3, 4]), st.integers(0, 5))
def test_hostile_bytes(tail: bytes, version: int, count: int) -> None:
    """Nothing in it makes us fail, and it never grows."""
    body = b"DIRC" + version.to_bytes(4, "big") + count.to_bytes(4, "big") + tail
    data = body + hashlib.sha1(body, usedforsecurity=False).digest()
    assert len(without_stat(data)) <= len(data)
