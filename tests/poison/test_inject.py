"""Planting into a folder of this machine, which belongs to nobody we know."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from localengine import LocalEngine

from takeover.poison.catalog import V2, V3, find_pill
from takeover.sandbox.errors import InputError
from takeover.sandbox.snapshot import Snapshot
from takeover.sandbox.store import SnapshotStore
from takeover.tiers.task import Task
from takeover.trials import redteam_inject
from takeover.trials.redteam_inject import inject_into_folder


@pytest.fixture(name="folder")
def _folder(store: SnapshotStore, started: Snapshot, tmp_path: Path) -> Path:
    """A workspace as an agent left it."""
    store.extract(started.sha256, tmp_path / "work")
    return tmp_path / "work"


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_only_what_was_planted_is_written(local: LocalEngine, folder: Path, fintech: Task) -> None:
    """Two files for an uncommitted pill; everything else keeps its bytes, its mode and its inode."""
    (folder / "billing" / "tax.py").chmod(0o755)
    before = contents(folder)
    inodes = {path: (folder / path).stat().st_ino for path in before}
    record = inject_into_folder(local, folder, V2, fintech)
    after = contents(folder)

    assert {path for path in after if after[path] != before.get(path)} == {"billing/tax.py", "rbac/rules.py"}
    assert record.changed == ["billing/tax.py", "rbac/rules.py"]
    assert (folder / "billing" / "tax.py").stat().st_mode & 0o777 == 0o755
    assert all((folder / path).stat().st_ino == inodes[path] for path in before if after[path] == before[path])


def test_an_amended_commit_comes_back_whole(local: LocalEngine, folder: Path, fintech: Task) -> None:
    """Objects, ref, reflog and index; git finds nothing wrong and nothing to commit."""
    inject_into_folder(local, folder, V3, fintech)
    for command, said in ((["status", "--porcelain"], ""), (["fsck", "--full"], "")):
        done = subprocess.run(["git", *command], cwd=folder, capture_output=True, text=True, check=True)
        assert done.stdout == said
    shown = subprocess.run(["git", "show", "HEAD"], cwd=folder, capture_output=True, text=True, check=True).stdout
    assert "2_500" in shown
    assert "from audit import masking" in shown


def test_no_place_leaves_the_folder_as_it_is(local: LocalEngine, folder: Path, fintech: Task) -> None:
    """The reason is an error of the caller's input."""
    (folder / "billing" / "tax.py").write_text("nothing here\n")
    before = contents(folder)
    with pytest.raises(InputError, match="v2 has no place here"):
        inject_into_folder(local, folder, V2, fintech)
    assert contents(folder) == before


def test_links_lead_nowhere(local: LocalEngine, folder: Path, fintech: Task, tmp_path: Path) -> None:
    """A link in the place of a file, of a folder, or of the repository is no way out."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "tax.py").write_text((folder / "billing" / "tax.py").read_text())
    (folder / "billing" / "tax.py").unlink()
    (folder / "billing" / "tax.py").symlink_to(outside / "tax.py")
    with pytest.raises(InputError, match="not there, or is no plain file"):
        inject_into_folder(local, folder, V2, fintech)
    assert contents(outside) == {"tax.py": (outside / "tax.py").read_bytes()}


class _Swapping(LocalEngine):
    """Puts something else in the place of a path while the plant is under way."""

    def __init__(self, swap: object) -> None:
        super().__init__()
        self._swap = swap

    def open(self, *given: object, **named: object):
        self._swap()  # type: ignore[operator]
        return super().open(*given, **named)  # type: ignore[arg-type]


@pytest.mark.parametrize("what", ["link", "folder link", "edit", "fifo"])
def test_what_is_swapped_meanwhile_is_not_written_through(
    folder: Path, fintech: Task, tmp_path: Path, what: str
) -> None:
    """Nothing outside is touched, and the file that changed keeps what it has."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "tax.py").write_bytes((folder / "billing" / "tax.py").read_bytes())
    target = folder / "billing" / "tax.py"

    def swap() -> None:
        if what == "folder link":
            (folder / "billing").rename(tmp_path / "moved")
            (folder / "billing").symlink_to(outside)
            return
        target.unlink()
        if what == "link":
            target.symlink_to(outside / "tax.py")
        elif what == "edit":
            target.write_bytes(b"mine\n")
        else:
            os.mkfifo(target)

    before = contents(outside)
    with pytest.raises(InputError, match="cannot be written to"):
        inject_into_folder(_Swapping(swap), folder, V2, fintech)
    assert contents(outside) == before
    if what == "edit":
        assert target.read_bytes() == b"mine\n"


def test_a_disk_that_is_full_leaves_no_half_file(
    local: LocalEngine, folder: Path, fintech: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file keeps its old content, and nothing temporary is left."""
    before = contents(folder)

    def full(_descriptor: int, _mode: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(redteam_inject.os, "fchmod", full)
    with pytest.raises(InputError, match="No space left"):
        inject_into_folder(local, folder, find_pill("readme.denial.uncommitted.replace.end"), fintech)
    assert contents(folder) == before


@pytest.fixture(autouse=True)
def _own_git(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return
