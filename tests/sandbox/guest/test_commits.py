"""Which commit HEAD names, read from hostile files."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from takeover.sandbox.guest.commits import MAX_PACKED, Repository

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads as Linux has it")

A, B, C = (letter * 40 for letter in "abc")


class Folder:
    """A workspace with a `.git` of plain files."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, name: str, text: str | bytes) -> None:
        path = self.root / ".git" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        # As git does it: a new file takes the old one's place.
        path.with_name("lock").write_bytes(text.encode() if isinstance(text, str) else text)
        path.with_name("lock").replace(path)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """HEAD is at main, which is at A."""
    folder = Folder(tmp_path)
    folder.write("HEAD", "ref: refs/heads/main\n")
    folder.write("refs/heads/main", A + "\n")
    return folder


@pytest.fixture
def open_it(tmp_path: Path) -> Iterator[Callable[[], Repository]]:
    opened = []

    def opener() -> Repository:
        opened.append(Repository(str(tmp_path)))
        return opened[-1]

    yield opener
    for repository in opened:
        repository.close()


def seen(repository: Repository) -> str | None:
    commit = repository.new_commit()
    return None if commit is None else commit.decode()


def test_a_new_commit_is_told_once(folder: Folder, open_it: Callable[[], Repository]) -> None:
    """Nothing at the start; a new id once; going back and forth between known ones never again."""
    repository = open_it()
    assert seen(repository) is None
    folder.write("refs/heads/main", B)

    assert [seen(repository), seen(repository)] == [B, None]
    folder.write("refs/heads/main", A)
    assert seen(repository) is None
    folder.write("refs/heads/main", B)
    assert seen(repository) is None
    folder.write("HEAD", C)  # detached
    assert seen(repository) == C


def test_a_repository_that_is_made_later(tmp_path: Path, open_it: Callable[[], Repository]) -> None:
    """Where there was none, the first commit of a new one counts, and no `git init` does."""
    repository = open_it()
    folder = Folder(tmp_path)
    folder.write("HEAD", "ref: refs/heads/main")
    assert seen(repository) is None
    folder.write("refs/heads/main", B)

    assert seen(repository) == B


def test_references_that_were_there_are_no_commits(folder: Folder, open_it: Callable[[], Repository]) -> None:
    """Checking out another branch, loose or packed, changes HEAD and commits nothing."""
    folder.write("refs/heads/topic/deep", B)
    folder.write("packed-refs", f"# pack-refs with: peeled\n{C} refs/tags/v1\n^{A}\n")
    repository = open_it()
    for head in ("ref: refs/heads/topic/deep", C, "ref: refs/tags/v1"):
        folder.write("HEAD", head)
        assert seen(repository) is None
    folder.write("refs/heads/topic/deep", "d" * 64)
    folder.write("HEAD", "ref: refs/heads/topic/deep")

    assert seen(repository) == "d" * 64


def test_packed_references(folder: Folder, open_it: Callable[[], Repository]) -> None:
    """Packing changes nothing; a loose reference wins over a packed one; a symbolic one is gone after."""
    repository = open_it()
    folder.write("packed-refs", f"{A} refs/heads/main\n{B} refs/heads/mainly\n")
    (folder.root / ".git/refs/heads/main").unlink()
    assert seen(repository) is None
    folder.write("refs/heads/main", "ref: refs/heads/other")
    assert seen(repository) is None
    folder.write("packed-refs", f"{A} refs/heads/main\n{C} refs/heads/other\n")

    assert seen(repository) == C


def test_git_itself(tmp_path: Path, open_it: Callable[[], Repository]) -> None:
    """With a real git: commit, amend, a commit made by plumbing, and no move of HEAD to what is old."""
    git = shutil.which("git")
    if git is None:
        pytest.skip("needs git")
    who = [
        f"GIT_{one}_{two}={value}"
        for one in ("AUTHOR", "COMMITTER")
        for two, value in (("NAME", "a"), ("EMAIL", "a@b"))
    ]

    def run(*arguments: str) -> str:
        argv = ["env", "-i", "PATH=/usr/bin:/bin", "HOME=/nonexistent", *who, git, *arguments]
        return subprocess.run(argv, cwd=tmp_path, check=True, capture_output=True, text=True).stdout.strip()

    run("init", "-q", "-b", "main")
    for number in range(3):
        run("commit", "-q", "--allow-empty", "-m", str(number))
    repository = open_it()

    run("checkout", "-q", "HEAD~1")
    assert seen(repository) is None
    run("checkout", "-q", "-b", "back", "HEAD~1")
    assert seen(repository) is None
    run("commit", "-q", "--allow-empty", "-m", "new")
    assert seen(repository) == run("rev-parse", "HEAD")
    run("commit", "-q", "--allow-empty", "--amend", "-m", "newer")
    assert seen(repository) == run("rev-parse", "HEAD")
    run("update-ref", "refs/heads/back", run("commit-tree", "-m", "x", "HEAD^{tree}"))
    assert seen(repository) == run("rev-parse", "HEAD")
    run("pack-refs", "--all")
    run("gc", "-q")
    assert seen(repository) is None
    run("reset", "-q", "--hard", "main")
    assert seen(repository) is None
    run("commit", "-q", "--allow-empty", "-m", "another")
    assert seen(repository) == run("rev-parse", "HEAD")


HOSTILE: dict[str, Callable[[Path], object]] = {
    "HEAD is a pipe": lambda git: (git / "HEAD").unlink() or os.mkfifo(git / "HEAD"),
    "HEAD is a link": lambda git: (git / "HEAD").unlink() or (git / "HEAD").symlink_to("refs/heads/new"),
    "HEAD is a folder": lambda git: (git / "HEAD").unlink() or (git / "HEAD").mkdir(),
    "HEAD is huge": lambda git: (git / "HEAD").write_text("ref: refs/heads/new" + "\n" * (1 << 20)),
    "HEAD leads out": lambda git: (git / "HEAD").write_text("ref: refs/../../new"),
    "HEAD leads anywhere": lambda git: (git / "HEAD").write_text("ref: /tmp/new"),
    "HEAD is binary": lambda git: (git / "HEAD").write_bytes(bytes(range(256))),
    "HEAD leads to itself": lambda git: (git / "HEAD").write_text("ref: refs/heads/loop"),
    "the reference is a pipe": lambda git: (git / "refs/heads/main").unlink() or os.mkfifo(git / "refs/heads/main"),
    "the reference is a link": lambda git: (
        (git / "refs/heads/main").unlink() or (git / "refs/heads/main").symlink_to("new")
    ),
    "the reference is no id": lambda git: (git / "refs/heads/main").write_text("B" * 40),
    "the reference is long": lambda git: (git / "refs/heads/main").write_text(B + B),
    "a folder is a link": lambda git: (git / "refs/heads").rename(git / "x") or (git / "refs/heads").symlink_to("../x"),
    ".git is a link": lambda git: git.rename(git.parent / "x") or git.symlink_to("x"),
    ".git is a pipe": lambda git: git.rename(git.parent / "x") or os.mkfifo(git),
    ".git is a file": lambda git: git.rename(git.parent / "x") or git.write_text("gitdir: x"),
    "packed-refs is huge": lambda git: (
        (git / "refs/heads/main").unlink()
        or (git / "packed-refs").write_text(f"{B} refs/heads/main\n" * (MAX_PACKED // 57 + 2))
    ),
    "packed-refs is a pipe": lambda git: (git / "refs/heads/main").unlink() or os.mkfifo(git / "packed-refs"),
}


@pytest.mark.parametrize("how", HOSTILE)
def test_a_hostile_repository(folder: Folder, open_it: Callable[[], Repository], how: str) -> None:
    """Pipes, links, sizes and names that lead elsewhere: no commit is seen, and nothing waits."""
    repository = open_it()
    folder.write("refs/heads/new", B)
    folder.write("refs/heads/loop", "ref: refs/heads/loop")
    # The links above would lead to a new commit, if they were followed.
    if "folder" in how or ".git" in how:
        folder.write("refs/heads/main", B)
    HOSTILE[how](folder.root / ".git")

    assert seen(repository) is None
    assert seen(open_it()) is None


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.binary(max_size=300), st.binary(max_size=300), st.binary(max_size=300))
def test_any_bytes_are_read(
    folder: Folder, open_it: Callable[[], Repository], head: bytes, main: bytes, packed: bytes
) -> None:
    """Whatever the files hold, the answer is a new id or nothing."""
    repository = open_it()
    folder.write("HEAD", head)
    folder.write("refs/heads/main", main)
    folder.write("packed-refs", packed)

    found = seen(repository)
    assert found is None or len(found) in (40, 64)


def test_a_folder_of_many_references(folder: Folder, open_it: Callable[[], Repository]) -> None:
    """Only so many are remembered, and the look takes no time to speak of."""
    for number in range(3000):
        (folder.root / f".git/refs/heads/b{number}").touch()

    assert seen(open_it()) is None
