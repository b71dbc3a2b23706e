"""The watch on a folder of this machine: what it does when the kernel runs short."""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from takeover.sandbox.guest import kernel
from takeover.sandbox.guest.edits import parse_rule
from takeover.sandbox.guest.watch import WHOLE, Watch

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")


class Notes:
    """A sink that writes down what it hears."""

    def __init__(self) -> None:
        self.rule = parse_rule({"rule": "first-edit"})
        self.heard: list[tuple[str, str]] = []

    def finished(self, path: bytes, how: str) -> None:
        self.heard.append((how, path.decode()))

    def modified(self, path: bytes) -> None:
        self.heard.append(("modified", path.decode()))

    def created(self, path: bytes, links: int) -> None:
        self.heard.append((f"created, {links} links", path.decode()))

    def counts(self, path: str) -> bool:
        return self.rule.counts(path)

    def enters(self, folder: str) -> bool:
        return self.rule.enters(folder)


@pytest.fixture
def queue() -> Iterator[int]:
    """An inotify queue."""
    descriptor = kernel.inotify_init()
    yield descriptor
    os.close(descriptor)


def watching(queue: int, root: Path) -> tuple[Watch, Notes]:
    notes = Notes()
    watch = Watch(queue, str(root), notes)
    list(watch.start())
    return watch, notes


def pump(watch: Watch) -> None:
    assert watch.pump(time.monotonic() + 30)


def test_a_full_queue_is_made_up_for(tmp_path: Path, queue: int) -> None:
    """When the kernel has dropped events the whole tree is looked at again, and the watch says so."""
    (tmp_path / "a.py").write_text("x")
    watch, notes = watching(queue, tmp_path)
    with (tmp_path / "one.txt").open("ab", 0) as one, (tmp_path / "two.txt").open("ab", 0) as two:
        for _ in range(20_000):
            one.write(b"x")
            two.write(b"x")
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "b.py").write_text("y")
    pump(watch)

    assert watch.overflowed
    assert {("found", "a.py"), ("found", "new/b.py")} <= set(notes.heard)


def test_the_limit_of_watches_is_said(tmp_path: Path, queue: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """No watch to be had: the watch goes on with what it has, and says why it is blind."""
    (tmp_path / "deep").mkdir()
    real, count = kernel.inotify_add_watch, iter([True, False, False, False])

    def scarce(descriptor: int, path: bytes, mask: int) -> int:
        if not next(count):
            raise OSError(errno.ENOSPC, "no space")
        return real(descriptor, path, mask)

    monkeypatch.setattr(kernel, "inotify_add_watch", scarce)
    watch, notes = watching(queue, tmp_path)
    assert watch.limited == "the kernel's limit of inotify watches"
    (tmp_path / "a.py").write_text("x")
    pump(watch)

    assert ("written", "a.py") in notes.heard


def test_work_comes_in_slices(tmp_path: Path, queue: int) -> None:
    """A look that has no time left leaves the rest for the next one, and nothing is lost."""
    watch, notes = watching(queue, tmp_path)
    for number in range(50):
        (tmp_path / f"f{number}.py").write_text("x")
    slices = 0
    while not watch.pump(time.monotonic() - 1):
        slices += 1

    assert slices >= 50
    assert sum(how == "written" for how, _ in notes.heard) == 50


def test_contents(tmp_path: Path, queue: int) -> None:
    """Same bytes, same content; a link is its text; what is neither is nothing, and nothing is waited for."""
    watch, _ = watching(queue, tmp_path)
    (tmp_path / "a.py").write_text("x")
    (tmp_path / "b.py").write_text("x")
    (tmp_path / "c.py").write_text("y")
    (tmp_path / "l.py").symlink_to("a.py")
    os.mkfifo(tmp_path / "f.py")
    (tmp_path / "d.py").mkdir()

    content = {
        name: watch.content(f"{name}.py".encode()) for name in ("a", "b", "c", "l", "f", "d", "gone", "no/where")
    }
    assert content["a"] == content["b"] != content["c"]
    assert content["l"] == b"la.py"
    assert [content[name] for name in ("f", "d", "gone", "no/where")] == [None] * 4
    assert set(watch.contents(time.monotonic() + 30)) == {b"a.py", b"b.py", b"c.py", b"l.py"}


@pytest.mark.parametrize("size", [WHOLE, WHOLE + 1, 3 << 40], ids=["whole", "larger", "terabytes"])
def test_large_files_do_not_hold_it_up(tmp_path: Path, queue: int, size: int) -> None:
    """Whatever its size, a file is told apart from what it was, in no time."""
    path = tmp_path / "large.py"
    path.touch()
    os.truncate(path, size)
    watch, _ = watching(queue, tmp_path)
    began = time.monotonic()
    before = watch.content(b"large.py")
    with path.open("r+b") as file:
        file.seek(size - 1)
        file.write(b"x")

    assert watch.content(b"large.py") != before
    assert time.monotonic() - began < 5


def test_the_last_look_reads_only_what_changed(tmp_path: Path, queue: int) -> None:
    """Files without an event and with the same stat are not read again; after the deadline nothing is."""
    (tmp_path / "a.py").write_text("x")
    (tmp_path / "b.py").write_text("x")
    watch, _ = watching(queue, tmp_path)
    known = watch.contents(time.monotonic())
    (tmp_path / "b.py").write_text("y")
    pump(watch)
    late = watch.contents(time.monotonic())

    assert set(known) == {b"a.py", b"b.py"}
    assert late[b"a.py"] == known[b"a.py"]
    assert late[b"b.py"] == b"unread"
    assert watch.contents(time.monotonic() + 30)[b"b.py"] not in (known[b"b.py"], b"unread")


def test_a_queue_is_left_empty(tmp_path: Path, queue: int) -> None:
    """The next session does not hear of the last one."""
    watch, _ = watching(queue, tmp_path)
    (tmp_path / "a.py").write_text("x")
    watch.close()
    (tmp_path / "a.py").write_text("y")
    again, notes = watching(queue, tmp_path)
    pump(again)

    assert notes.heard == []
