"""Hostile folders: what a walk finds in them, that it comes back, and that it touches nothing outside."""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from takeover.sandbox import gate
from takeover.sandbox.gate_model import Entry, FindingKind
from takeover.sandbox.gate_walk import Caps, Selection, Walk, read_beneath, walk
from takeover.sandbox.tree import canonical_key, encode_path


@pytest.fixture(name="root")
def _root() -> Iterator[Path]:
    # Not tmp_path: other users must get at it, and only rm can remove what is made in it.
    root = Path(tempfile.mkdtemp(prefix="takeover-walk-"))
    root.chmod(0o755)
    yield root
    subprocess.run(["chmod", "-R", "u+rwX", root], check=False, stderr=subprocess.DEVNULL)
    subprocess.run(["rm", "-rf", root], check=True)


def found(seen: Walk) -> list[tuple[FindingKind, str]]:
    return [(finding.kind, finding.path) for finding in seen.findings]


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def _device(path: Path) -> None:
    try:
        os.mknod(path, 0o600 | 0o020000, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("only root can make a device")


SPECIAL: dict[str, tuple[Callable[[Path], object], str]] = {
    "FIFO": (os.mkfifo, "fifo"),
    "socket": (_socket, "socket"),
    "endless device": (_device, "char-device"),
}


@pytest.mark.parametrize(("make", "kind"), SPECIAL.values(), ids=SPECIAL)
@pytest.mark.parametrize("name", ["state.md", "x.py", "app_map.md", ".gitignore"])
def test_special_files_are_found_and_never_opened(
    make: Callable[[Path], object], kind: str, name: str, root: Path
) -> None:
    """What would hang a reader is an entry of its kind and a finding."""
    make(root / name)

    seen = walk(root)

    assert [(entry.path, entry.kind) for entry in seen.entries] == [(name, kind)]
    assert found(seen) == [(FindingKind.SPECIAL_FILE, name)]


@pytest.mark.parametrize("target", ["/etc/passwd", "/dev/zero", "..", "loop", "/proc/self/fd", "missing", "\udcff"])
def test_links_are_text(target: str, root: Path) -> None:
    """A link is recorded by what it says; where it leads is not looked at."""
    (root / "loop").symlink_to(target)

    seen = walk(root)

    assert [Entry("loop", "link", 0o777, target=target)] == list(seen.entries)
    assert not seen.findings


def test_a_tree_1500_deep(root: Path) -> None:
    """Depth beyond the cap is one finding; the walk neither recurses to death nor runs out of descriptors."""
    descriptor = os.open(root, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=descriptor)
        below = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = below
    os.close(descriptor)

    record = gate.record_folder(root)

    assert len(record.entries) == Caps().depth
    assert [(f.kind, f.path) for f in record.findings] == [(FindingKind.TOO_DEEP, "/".join(["d"] * Caps().depth))]
    assert not record.complete


def test_a_file_of_three_terabytes(root: Path) -> None:
    """A sparse giant is not read; its size is known, its content is not claimed."""
    (root / "x.py").touch()
    os.truncate(root / "x.py", 3 << 40)

    seen = walk(root)

    assert [(entry.size, entry.sha256) for entry in seen.entries] == [(3 << 40, None)]
    assert found(seen) == [(FindingKind.TOO_LARGE, "x.py")]


def test_too_many_bytes_in_all(root: Path) -> None:
    """The cap on all bytes holds over files that are each small; those within it are hashed."""
    for name in "abc":
        (root / name).write_bytes(b"x" * 400)

    seen = walk(root, caps=Caps(bytes=1000))

    assert [entry.sha256 is not None for entry in seen.entries] == [True, True, False]
    assert found(seen) == [(FindingKind.TOO_LARGE, "c")]


def test_too_many_entries(root: Path) -> None:
    """More names than the cap are one finding for the whole tree, however many folders are left."""
    for name in "abcdef":
        (root / name).mkdir()
        (root / name / "x").touch()

    seen = walk(root, caps=Caps(entries=8))

    assert len(seen.entries) == 8
    assert found(seen) == [(FindingKind.TOO_MANY, "")]


@pytest.mark.parametrize("name", [b"\xff\xfe.py", b"a\nb", b"\x1b[31mred", b"\x7f", "\u0085".encode()[:1]])
def test_names_that_hide(name: bytes, root: Path) -> None:
    """Names of undecodable bytes or control characters are recorded as they are, and pointed out."""
    (root / os.fsdecode(name)).write_text("x")

    seen = walk(root)

    assert [encode_path(entry.path) for entry in seen.entries] == [name]
    assert found(seen) == [(FindingKind.ODD_NAME, os.fsdecode(name))]


def test_names_that_are_only_foreign(root: Path) -> None:
    """Letters of any script are no finding."""
    for name in ("naïve.py", "模块.py", "a b.py", "-rf", "...", "x" * 255):
        (root / name).touch()

    assert not walk(root).findings


def test_what_may_not_be_read(root: Path) -> None:
    """An unreadable file or folder is an entry without content and a finding, for a reader without privileges."""
    if os.geteuid():
        pytest.skip("needs root, to become somebody else")
    (root / "secret.py").write_text("x")
    (root / "secret.py").chmod(0)
    (root / "closed").mkdir(mode=0o700)
    (root / "open.py").write_text("y")
    (root / "open.py").chmod(0o644)
    os.seteuid(65534)
    try:
        record = gate.record_folder(root)
    finally:
        os.seteuid(0)

    assert list(record.entries) == ["closed", "open.py", "secret.py"]
    assert [record.entries[name].sha256 is None for name in record.entries] == [True, False, True]
    assert [(f.kind, f.path) for f in record.findings] == [
        (FindingKind.UNREADABLE, "closed"),
        (FindingKind.UNREADABLE, "secret.py"),
    ]


def test_a_set_user_id_file(root: Path) -> None:
    """A set-user-ID file is pointed out."""
    (root / "x").touch()
    (root / "x").chmod(0o4755)

    assert found(walk(root)) == [(FindingKind.SET_ID, "x")]


def _swap(make: Callable[[Path], object]) -> Callable[[Path], None]:
    def swap(path: Path) -> None:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
        make(path)

    return swap


SWAPS: dict[str, Callable[[Path], None]] = {
    "for a link out": _swap(lambda path: path.symlink_to("/etc/passwd")),
    "for a link to a folder": _swap(lambda path: path.symlink_to("/etc")),
    "for a FIFO": _swap(os.mkfifo),
    "for nothing": _swap(lambda path: None),
}


@pytest.mark.parametrize("swap", SWAPS.values(), ids=SWAPS)
@pytest.mark.parametrize("name", ["victim", "folder"])
def test_swapped_between_listing_and_opening(swap: Callable[[Path], None], name: str, root: Path) -> None:
    """What is swapped in the moment before it is opened is a finding; nothing outside is read, nothing hangs."""
    (root / "victim").write_text("x")
    (root / "folder").mkdir()
    (root / "folder" / "inside").write_text("x")

    def now(path: str) -> bool:
        if path == name:
            swap(root / path)
        return True

    seen = walk(root, Selection(enter=now, record=now, keep=lambda path: True))

    assert [path for _, path in found(seen)] == [name]
    assert found(seen)[0][0] in (FindingKind.REPLACED_WHILE_READ, FindingKind.UNREADABLE)
    assert set(seen.contents.values()) == {b"x"} or not seen.contents
    assert all(entry.sha256 is None for entry in seen.entries if entry.path == name)


def test_a_file_that_never_stops_growing(root: Path) -> None:
    """A file that is written as fast as it is read ends at the cap."""
    path = root / "log"
    path.write_bytes(b"x" * (2 << 20))
    stop = threading.Event()

    def grow() -> None:
        with path.open("ab") as file:
            while not stop.is_set() and file.tell() < 200 << 20:
                file.write(b"y" * (1 << 20))

    thread = threading.Thread(target=grow)
    thread.start()
    try:
        seen = walk(root, caps=Caps(file_bytes=3 << 20))
    finally:
        stop.set()
        thread.join()

    assert len(seen.entries) == 1
    assert seen.entries[0].sha256 is None or seen.entries[0].size <= 3 << 20


def test_large_files_are_hashed_right(root: Path) -> None:
    """A file of several reads has the hash of its bytes."""
    content = os.urandom((3 << 20) + 17)
    (root / "x").write_bytes(content)

    assert walk(root).entries[0].sha256 == hashlib.sha256(content).hexdigest()


def test_descriptors_are_given_back(root: Path) -> None:
    """However a walk goes, it leaves no descriptor open."""
    os.mkfifo(root / "fifo")
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "gone").touch()
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208

    for swap in SWAPS.values():
        (root / "a" / "gone").unlink(missing_ok=True)
        (root / "a" / "gone").touch()
        walk(root, Selection(record=lambda path, swap=swap: bool(swap(root / path)) or True))
        read_beneath(root, "a/gone", 10)
        read_beneath(root, "fifo/x", 10)

    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


READS: dict[str, tuple[str, bytes | None]] = {
    "a file": ("a/x", b"hello"),
    "too large": ("a/large", None),
    "missing": ("a/y", None),
    "a folder": ("a", None),
    "below a file": ("a/x/y", None),
    "a FIFO": ("a/fifo", None),
    "a link": ("a/link", None),
    "through a link": ("b/x", None),
}


@pytest.mark.parametrize(("path", "expected"), READS.values(), ids=READS)
def test_reading_one_file(path: str, expected: bytes | None, root: Path) -> None:
    """One file is read by the rules of the walk: plain, small enough, no link on the way."""
    (root / "a").mkdir()
    (root / "a" / "x").write_bytes(b"hello")
    (root / "a" / "large").write_bytes(b"hello!")
    os.mkfifo(root / "a" / "fifo")
    (root / "a" / "link").symlink_to("x")
    (root / "b").symlink_to("a")

    assert read_beneath(root, path, 5) == expected


parts = st.sampled_from([b"a", b"a.b", b"a-b", b"B", b"\xc3\xa9", b"\xff", "𝒳".encode(), b"~"])


@settings(max_examples=30, deadline=None)
@given(st.sets(st.lists(parts, min_size=1, max_size=3).map(tuple), max_size=12))
def test_a_walk_is_in_canonical_order(paths: set[tuple[bytes, ...]]) -> None:
    """Entries come in the one order that the house uses, without being sorted as a whole."""
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            place = Path(folder, *map(os.fsdecode, path))
            if not any(parent.is_file() for parent in place.parents) and not place.exists():
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(b"")

        listed = [entry.path for entry in walk(Path(folder)).entries]

    assert listed == sorted(listed, key=canonical_key)
