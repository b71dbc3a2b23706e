"""A session with a listener of ours: which paused calls go on, in which order, and which never do."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import pytest

from takeover.sandbox.guest import kernel
from takeover.sandbox.guest.barrier import Call
from takeover.sandbox.guest.edits import parse_rule
from takeover.sandbox.guest.hold import Hold
from takeover.sandbox.guest.session import Session

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")


class FakeListener:
    """Gives the calls it was given, and remembers which were let go."""

    def __init__(self) -> None:
        self.fd = -1
        self.calls: deque[Call] = deque()
        self.gone_on: list[int] = []

    def take(self) -> Call | None:
        return self.calls.popleft() if self.calls else None

    def let(self, call: Call) -> None:
        self.gone_on.append(call.tid)

    def close(self) -> None:
        self.fd = -2


class FakeHold(Hold):
    """Knows what each thread is about instead of reading its memory."""

    def __init__(self, root: Path, targets: dict[int, bytes]) -> None:
        super().__init__(str(root), 0, 0, lambda path: True)
        self.targets = targets

    def target(self, call: Call) -> bytes | None:
        return self.targets.get(call.tid)


class Stage:
    """A session over a folder, and what happened to it."""

    def __init__(self, root: Path, queue: int, targets: dict[int, bytes] | None = None, **rule: object) -> None:
        self.root, self.kills = root, 0
        self.hold = FakeHold(root, targets or {})
        self.session = Session(parse_rule({"rule": "first-edit", **rule}), self.hold, queue, str(root), self._kill)
        self.listener = FakeListener()
        self.session.gate.listener = self.listener  # type: ignore[assignment]

    def _kill(self) -> None:
        self.kills += 1

    def call(self, tid: int, name: str = "openat", *arguments: int) -> None:
        """A thread makes a call that pauses."""
        self.listener.calls.append(Call(tid, tid, name, (*arguments, 0, 0, 0, 0, 0, 0)[:6]))
        self.session.gate.arrived()


@pytest.fixture
def queue() -> Iterator[int]:
    descriptor = kernel.inotify_init()
    yield descriptor
    os.close(descriptor)


# Threads that exist: whoever is gone holds nobody up.
A, B, C = os.getpid(), os.getppid(), 1


def test_calls_go_on_until_the_edit(tmp_path: Path, queue: int) -> None:
    """Before an edit every call goes on; the first one after it never does."""
    stage = Stage(tmp_path, queue)
    stage.call(A)
    stage.call(B)
    (tmp_path / "notes.txt").write_text("x")
    stage.call(A)
    (tmp_path / "a.py").write_text("x")
    stage.call(B)
    stage.call(A)

    assert stage.listener.gone_on == [A, B, A]
    assert stage.kills == 1
    assert stage.session.cut is not None
    assert stage.session.cut.path == b"a.py"


def test_the_edit_that_frees_a_held_call_may_end_it(tmp_path: Path, queue: int) -> None:
    """A call that waits for another thread's edit does not go on when that edit ends the session."""
    stage = Stage(tmp_path, queue, {A: b"a.py", B: b"b.py"})
    stage.call(A)
    stage.call(B)
    assert stage.listener.gone_on == [A]
    (tmp_path / "a.py").write_text("x")
    stage.session.gate.release()

    assert stage.listener.gone_on == [A]
    assert stage.kills == 1


def test_a_held_call_goes_on_when_its_turn_comes(tmp_path: Path, queue: int) -> None:
    """When the other thread's file is closed without an edit, the next one has its turn; each waits only for others."""
    (tmp_path / "a.py").write_text("x")
    stage = Stage(tmp_path, queue, {A: b"a.py", B: b"b.py", C: b"c.txt"})
    stage.call(A)
    stage.call(B)
    stage.call(A)  # the same thread waits for nobody
    assert stage.listener.gone_on == [A, A]
    assert stage.session.gate.patience is not None
    (tmp_path / "a.py").write_text("x")
    stage.session.gate.release()

    assert stage.listener.gone_on == [A, A, B]
    assert stage.session.gate.patience is None
    assert stage.kills == 0


def test_a_rename_is_done_when_its_thread_goes_on(tmp_path: Path, queue: int) -> None:
    """A rename that failed leaves no event: the thread's next call shows that it is over."""
    stage = Stage(tmp_path, queue, {A: b"a.py", B: b"b.py"})
    stage.call(A, "rename")
    stage.call(B)
    assert stage.listener.gone_on == [A]
    stage.hold.targets.clear()
    stage.call(A, "execve")

    assert stage.listener.gone_on == [A, A, B]


def test_whoever_is_gone_holds_nobody_up(tmp_path: Path, queue: int) -> None:
    """An open that failed, and a thread that ended: the entry goes with the thread."""
    nobody = 2**22 + 1
    stage = Stage(tmp_path, queue, {nobody: b"a.py", B: b"b.py"})
    stage.call(nobody)
    stage.call(B)

    assert stage.listener.gone_on == [nobody, B]


def test_whoever_is_gone_has_left_an_edit(tmp_path: Path, queue: int) -> None:
    """A writer may close and end between two looks: its edit is seen before anybody goes on in its place."""
    stage = Stage(tmp_path, queue, {A: b"a.py", B: b"b.py"})
    stage.call(A)
    asked = stage.hold.admits

    def gone_meanwhile(tid: int) -> bool:
        stage.hold.ends(b"a.py")
        (tmp_path / "a.py").write_text("x")
        return asked(tid)

    stage.hold.admits = gone_meanwhile  # type: ignore[method-assign]
    stage.call(B)

    assert stage.listener.gone_on == [A]
    assert stage.kills == 1


def test_a_link_is_told_from_a_file_being_created(tmp_path: Path, queue: int) -> None:
    """A new name of one link counts at once after a link call, and waits for its close after an open."""
    stage = Stage(tmp_path, queue)
    stage.call(A, "openat", 0, 0, os.O_CREAT | os.O_WRONLY)
    file = (tmp_path / "opened.py").open("w")
    stage.session.settle()
    assert stage.kills == 0
    stage.call(A, "linkat")
    os.close(os.open(tmp_path / "x", os.O_CREAT))
    os.mknod(tmp_path / "linked.py")  # what the last name of a nameless file looks like: no open, no close
    stage.session.settle()
    file.close()

    assert stage.kills == 1
    assert stage.session.cut is not None
    assert (stage.session.cut.path, stage.session.cut.how) == (b"linked.py", "linked")


def test_truncate_counts_without_a_close(tmp_path: Path, queue: int) -> None:
    """Bytes that change right after a truncate call are an edit; those of a file that is open are not yet."""
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("12345")
    stage = Stage(tmp_path, queue)
    with (tmp_path / "a.py").open("a") as file:
        file.write("6")
        file.flush()
        stage.session.settle()
        assert stage.kills == 0
        stage.call(A, "truncate")
        os.truncate(tmp_path / "b.py", 2)
        stage.session.settle()
    report = stage.session.close()

    assert stage.session.cut is not None
    assert (stage.session.cut.path, stage.session.cut.how) == (b"b.py", "truncated")
    assert (report["open"], report["late"]) == ([b"a.py"], [])
    assert report["edited"] == [b"a.py", b"b.py"]


def test_late_and_open_are_told_apart(tmp_path: Path, queue: int) -> None:
    """Touched before the cut: open. Touched after it: late, the file of the cut included."""
    for name in ("cut.py", "open.py", "late.py", "same.py"):
        (tmp_path / name).write_text("1")
    stage = Stage(tmp_path, queue)
    with (tmp_path / "open.py").open("w") as half, (tmp_path / "late.py").open("a") as late:
        half.write("2")
        half.flush()
        with (tmp_path / "cut.py").open("a") as again:
            (tmp_path / "cut.py").write_text("2")
            again.write("3")
            again.flush()
            late.write("2")
            late.flush()
            half.write("3")
            half.flush()
            stage.session.settle()
    report = stage.session.close()

    assert stage.session.cut is not None
    assert stage.session.cut.path == b"cut.py"
    assert report["late"] == [b"cut.py", b"late.py", b"open.py"]
    assert report["open"] == []
    assert stage.listener.fd == -2


def test_edits_n_lets_the_earlier_ones_pass(tmp_path: Path, queue: int) -> None:
    """Earlier edits are neither late nor open."""
    stage = Stage(tmp_path, queue, rule="edits", n=2)
    (tmp_path / "a.py").write_text("1")
    (tmp_path / "b.py").write_text("1")
    stage.call(A)
    report = stage.session.close()

    assert stage.listener.gone_on == []
    assert (report["late"], report["open"]) == ([], [])
    assert report["first_edit"] == b"a.py"
    assert stage.session.ledger.edits == 2
