"""The run's folder."""

from __future__ import annotations

import errno
import multiprocessing
import os
from pathlib import Path

import pytest

from takeover.sandbox.errors import InputError, StorageError
from takeover.trials import record
from takeover.trials.record import RunPaths, TrialPaths, attempts_kept, claim, locked, run_paths, set_aside, write_bytes


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "-x", "a b", "x" * 101, "a\n"])
def test_a_run_id_is_a_plain_name(tmp_path: Path, name: str) -> None:
    """An id that could name another folder, or hide among options, is refused."""
    with pytest.raises(InputError):
        run_paths(tmp_path, name)


def test_fresh_ids_differ_within_a_second() -> None:
    """Two runs that start in the same second get two folders."""
    assert len({record.new_run_id() for _ in range(20)}) > 1


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the disk is full the old content stays and nothing half-written is left."""
    target = tmp_path / "summary.json"
    write_bytes(target, b"old")

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match="No space left"):
        write_bytes(target, b"new")

    assert target.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["summary.json"]


def test_a_trial_is_claimed_once(tmp_path: Path) -> None:
    """The second claim of a trial fails, whoever makes it."""
    paths = TrialPaths(tmp_path / "t")

    assert claim(paths, {}) is True
    assert claim(paths, {}) is False


def test_an_unfinished_attempt_is_kept(tmp_path: Path) -> None:
    """Setting an attempt aside keeps its files and never overwrites an earlier one."""
    paths = TrialPaths(tmp_path / "t")
    for number in (1, 2):
        claim(paths, {"try": number})
        (paths.root / "output.log").write_text(str(number))
        set_aside(paths)

    assert attempts_kept(paths) == 2
    assert (tmp_path / "t.attempt-1" / "output.log").read_text() == "1"
    assert (tmp_path / "t.attempt-2" / "output.log").read_text() == "2"


def _hold(folder: str, ready: object, go: object) -> None:
    with locked(RunPaths(Path(folder))):
        ready.set()  # type: ignore[attr-defined]
        go.wait(30)  # type: ignore[attr-defined]


def test_two_processes_do_not_work_on_one_run(tmp_path: Path) -> None:
    """A run in use is refused; when its owner dies by SIGKILL it is free again."""
    context = multiprocessing.get_context("fork")
    ready, go = context.Event(), context.Event()
    owner = context.Process(target=_hold, args=(str(tmp_path / "r"), ready, go))
    owner.start()
    assert ready.wait(30)

    with pytest.raises(InputError, match="another process"), locked(RunPaths(tmp_path / "r")):
        pass
    owner.kill()
    owner.join()
    with locked(RunPaths(tmp_path / "r")):
        pass


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"{", "run.json:1: not JSON"),
        (b"\xff", "cannot be read"),
        (b"[" * 100_000, "cannot be read"),
        (b"1" * 5000, "cannot be read"),
        (None, "no such file"),
    ],
    ids=["cut", "bytes", "deep", "digits", "absent"],
)
def test_a_broken_file_is_named(tmp_path: Path, content: bytes | None, complaint: str) -> None:
    """What cannot be read is named with its place."""
    file = tmp_path / "run.json"
    if content is not None:
        file.write_bytes(content)

    with pytest.raises(InputError, match=complaint):
        record.read_json(file)
