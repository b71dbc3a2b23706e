"""Snapshots: any tree goes in and comes out again, its name proves its bytes, and nothing half-written stays."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import shutil
import subprocess
import tarfile
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import Content, trees

from takeover.sandbox.caps import Caps
from takeover.sandbox.errors import InputError, StorageError
from takeover.sandbox.snapshot import Omission, header, next_item
from takeover.sandbox.store import SnapshotStore, SnapshotWriter
from takeover.sandbox.tree import TreeItem


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> SnapshotStore:
    return SnapshotStore(tmp_path_factory.mktemp("store"))


@given(tree=trees())
@settings(max_examples=60, deadline=None)
def test_any_tree_round_trips(shared: SnapshotStore, tree: list[Content]) -> None:
    """Every item comes back with its bytes; the manifest of the file is the one of the writing."""
    snapshot = shared.put(tree)
    back = [(item, stream.read()) for item, stream in shared.open(snapshot.sha256)]

    assert back == tree
    assert shared.manifest(snapshot.sha256) == snapshot.manifest
    for item, data in tree:
        if item.kind == "f":
            assert snapshot.manifest[item.path].sha256 == hashlib.sha256(data).hexdigest()


LENGTHS = st.sampled_from([1, 97, 98, 99, 100, 101, 300])
MADE_OF = st.sampled_from(["a", "é", "\udc80", " "])


@given(
    name=st.tuples(LENGTHS, MADE_OF),
    target=st.none() | st.tuples(LENGTHS, MADE_OF),
    mode=st.integers(0, 0o7777),
    size=st.none() | st.sampled_from([0, 1, 511, 512, 8**11 - 1, 8**11, 8**12]),
)
def test_headers_are_those_of_tarfile(
    name: tuple[int, str], target: tuple[int, str] | None, mode: int, size: int | None
) -> None:
    """Byte for byte, about every limit of a field; and they are read back as what they were made of."""
    if target is not None:
        item = TreeItem(name[1] * name[0], "l", 0o777, target=target[1] * target[0])
    else:
        item = TreeItem(name[1] * name[0], "d" if size is None else "f", mode, size or 0)
    info = tarfile.TarInfo(item.path)
    info.type = {"f": tarfile.REGTYPE, "d": tarfile.DIRTYPE, "l": tarfile.SYMTYPE}[item.kind]
    info.mode, info.size, info.linkname = item.mode, item.size, item.target or ""
    blocks = header(item)

    assert blocks == info.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")
    assert next_item(io.BytesIO(blocks).read) == item


def test_a_damaged_header_is_no_item() -> None:
    """Any byte of it that changes is seen."""
    whole = header(TreeItem("a/b.py", "f", 0o644, 77))
    for position in range(345):
        block = bytearray(whole)
        block[position] ^= 0x55
        with pytest.raises(StorageError, match="not a snapshot"):
            next_item(io.BytesIO(block).read)


@given(tree=trees())
@settings(max_examples=30, deadline=None)
def test_the_name_is_the_hash_of_the_tar(shared: SnapshotStore, tree: list[Content]) -> None:
    """One tree has one name, whatever order it is given in, and the name is the SHA-256 of the tar inside."""
    snapshot = shared.put(tree)
    tar = zstandard.ZstdDecompressor().stream_reader(shared.path(snapshot.sha256).read_bytes()).read()

    assert hashlib.sha256(tar).hexdigest() == snapshot.sha256
    assert shared.put(reversed(tree)).sha256 == snapshot.sha256


@pytest.mark.skipif(not (shutil.which("tar") and shutil.which("zstd")), reason="needs tar and zstd")
def test_gnu_tar_reads_it(store: SnapshotStore, tmp_path: Path) -> None:
    """GNU tar unpacks a snapshot, odd and long names included, and `zstd -dc | sha256sum` proves the name."""
    odd = b"caf\xe9 \xff".decode("utf-8", "surrogateescape")
    long = "/".join(["d" * 200, "e" * 200])
    snapshot = store.put_files({odd: b"odd", f"{long}/f.py": b"long", "a\nb": b"newline", "-rf": b"dash"})
    path = store.path(snapshot.sha256)
    out = tmp_path / "out"
    out.mkdir()
    digest = subprocess.run(f"zstd -dc '{path}' | sha256sum", shell=True, check=True, capture_output=True)
    subprocess.run(f"zstd -dc '{path}' | tar -xf - -C '{out}'", shell=True, check=True)

    assert digest.stdout.split()[0].decode() == snapshot.sha256
    assert (out / os.fsdecode(b"caf\xe9 \xff")).read_bytes() == b"odd"
    assert (out / long / "f.py").read_bytes() == b"long"
    assert sorted(os.fsencode(path.name) for path in out.iterdir()) == sorted(
        [b"caf\xe9 \xff", b"d" * 200, b"a\nb", b"-rf"]
    )


def test_pinned_bytes(store: SnapshotStore) -> None:
    """The canonical form never changes: snapshots of last year keep their names."""
    snapshot = store.put(
        [
            (TreeItem("empty", "d", 0o755), b""),
            (TreeItem("link", "l", 0o777, target="../out"), b""),
            (TreeItem("pkg/run.sh", "f", 0o755, 4), b"#!x\n"),
        ]
    )

    assert snapshot.sha256 == "78970defc6ec05f599a2e5ea3e78915c49717afb20bb76e36b6eed73839662e3"


REFUSED = {
    "out of order": [TreeItem("b", "f", 0o644), TreeItem("a", "f", 0o644)],
    "twice": [TreeItem("a", "f", 0o644), TreeItem("a", "f", 0o644)],
    "up and out": [TreeItem("../a", "f", 0o644)],
    "absolute": [TreeItem("/a", "f", 0o644)],
    "empty name": [TreeItem("", "d", 0o755)],
    "dot": [TreeItem("./a", "f", 0o644)],
    "NUL": [TreeItem("a\0b", "f", 0o644)],
    "below a link": [TreeItem("a", "l", 0o777, target="/"), TreeItem("a/b", "f", 0o644)],
    "below a file": [TreeItem("a", "f", 0o644), TreeItem("a/b", "f", 0o644)],
    "below nothing": [TreeItem("a/b", "f", 0o644)],
    "below a sibling": [TreeItem("a", "d", 0o755), TreeItem("b", "d", 0o755), TreeItem("c/d", "f", 0o644)],
    "set-uid": [TreeItem("a", "f", 0o4755)],
    "link without a target": [TreeItem("a", "l", 0o777)],
    "empty target": [TreeItem("a", "l", 0o777, target="")],
    "endless target": [TreeItem("a", "l", 0o777, target="x" * 5000)],
    "a lone surrogate that is no byte": [TreeItem("\ud800", "f", 0o644)],
    "a second spelling": [TreeItem("\udcc3\udca9", "f", 0o644)],
    "too deep": [TreeItem("/".join("a" * n), "d", 0o755) for n in range(1, 200)],
}


def add_all(writer: SnapshotWriter, items: list[TreeItem]) -> None:
    for item in items:
        writer.add(item)


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_tree_is_refused(store: SnapshotStore, case: str) -> None:
    """Each malformed tree is an InputError and leaves no file behind."""
    with store.writer() as writer, pytest.raises(InputError):
        add_all(writer, REFUSED[case])

    assert list(store.root.iterdir()) == []


@pytest.mark.parametrize(("size", "data"), [(3, b"1234"), (5, b"1234"), (1, b"")])
def test_content_must_have_the_announced_length(store: SnapshotStore, size: int, data: bytes) -> None:
    """More or fewer bytes than the item says are refused."""
    with store.writer() as writer, pytest.raises(InputError):
        writer.add(TreeItem("a", "f", 0o644, size), [data])


def test_caps_hold(store: SnapshotStore) -> None:
    """One item or one byte too many is refused."""
    with store.writer(Caps(max_files=1)) as writer:
        writer.add(TreeItem("a", "f", 0o644))
        with pytest.raises(InputError, match="1 items"):
            writer.add(TreeItem("b", "f", 0o644))
    with store.writer(Caps(max_bytes=3)) as writer, pytest.raises(InputError, match="3 bytes"):
        writer.add(TreeItem("a", "f", 0o644, 4), [b"1234"])


def test_a_full_disk_is_a_storage_error_and_leaves_nothing(
    store: SnapshotStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ENOSPC at the very end (fsync) still leaves no snapshot and no part of one."""

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match="No space"):
        store.put_files({"a": b"x"})

    assert list(store.root.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_disk_that_fills_while_writing(store: SnapshotStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that the disk refuses is a StorageError too."""
    store.root.mkdir(parents=True)
    with store.writer() as writer:
        with Path("/dev/full").open("wb", buffering=0) as full:
            os.dup2(full.fileno(), writer._file.fileno())
        with pytest.raises(StorageError):
            writer.add(TreeItem("a", "f", 0o644, 1 << 22), iter([os.urandom(1 << 22)]))

    assert list(store.root.iterdir()) == []


def test_an_error_in_the_middle_leaves_nothing(store: SnapshotStore) -> None:
    """A writer that is left by an exception has written nothing."""

    def fails() -> None:
        with store.writer() as writer:
            writer.add(TreeItem("a", "f", 0o644, 1), [b"1"])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()

    assert list(store.root.iterdir()) == []


def test_clean_removes_what_killed_writers_left(store: SnapshotStore) -> None:
    """Only parts go; snapshots and foreign files stay."""
    snapshot = store.put_files({"a": b"x"})
    (store.root / ".0123456789abcdef.part").write_bytes(b"half")
    (store.root / "README").write_bytes(b"mine")
    store.clean()

    assert {path.name for path in store.root.iterdir()} == {"README", store.path(snapshot.sha256).name}


def damage(path: Path, how: str) -> None:
    data = path.read_bytes()
    if how == "flipped":
        plain = bytearray(zstandard.ZstdDecompressor().stream_reader(data).read())
        plain[512] ^= 1
        path.write_bytes(zstandard.ZstdCompressor().compress(bytes(plain)))
    elif how == "truncated":
        path.write_bytes(data[: len(data) // 2])
    elif how == "longer":
        plain = zstandard.ZstdDecompressor().stream_reader(data).read()
        path.write_bytes(zstandard.ZstdCompressor().compress(plain + b"more"))
    elif how == "other":
        path.write_bytes(b"not zstd")
    else:
        path.unlink()


@pytest.mark.parametrize("how", ["flipped", "truncated", "longer", "other", "gone"])
def test_a_damaged_snapshot_is_never_believed(store: SnapshotStore, how: str) -> None:
    """Any damage to the file is a StorageError by the time the last item was read."""
    snapshot = store.put_files({"a": b"content" * 100})
    damage(store.path(snapshot.sha256), how)
    with pytest.raises(StorageError):
        store.manifest(snapshot.sha256)


def test_names_that_are_no_hash_are_refused(store: SnapshotStore) -> None:
    """A name cannot lead out of the store."""
    for name in ("../x", "", "a" * 63, "A" * 64):
        with pytest.raises(InputError):
            store.path(name)


def test_memory_is_flat_for_large_files(store: SnapshotStore) -> None:
    """A 64 MiB file passes through with a few MiB of memory, in and out."""
    chunk = os.urandom(1 << 20)

    def stream() -> Iterator[bytes]:
        for _ in range(64):
            yield chunk

    tracemalloc.start()
    with store.writer() as writer:
        writer.add(TreeItem("big", "f", 0o644, 64 << 20), stream())
        snapshot = writer.finish()
    assert store.manifest(snapshot.sha256) == snapshot.manifest
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 12 << 20


def test_extract_writes_the_tree_and_only_into_an_empty_folder(store: SnapshotStore, tmp_path: Path) -> None:
    """Contents, modes and links arrive; a folder that holds something is refused."""
    snapshot = store.put(
        [
            (TreeItem("locked", "d", 0o500), b""),
            (TreeItem("locked/f", "f", 0o640, 1), b"x"),
            (TreeItem("out", "l", 0o777, target="/etc"), b""),
        ]
    )
    out = tmp_path / "out"
    store.extract(snapshot.sha256, out)

    assert (out / "locked/f").read_bytes() == b"x"
    assert (out / "locked").stat().st_mode & 0o777 == 0o500
    assert (out / "locked/f").stat().st_mode & 0o777 == 0o640
    assert (out / "out").readlink() == Path("/etc")
    with pytest.raises(InputError, match="not empty"):
        store.extract(snapshot.sha256, out)


def test_read_files_is_bounded(store: SnapshotStore) -> None:
    """Only regular files that are wanted, and not more than was allowed."""
    snapshot = store.put_files({"a.py": b"1", "b.txt": b"2" * 100})

    assert store.read_files(snapshot.sha256, lambda item: item.path.endswith(".py")) == {"a.py": b"1"}
    with pytest.raises(InputError):
        store.read_files(snapshot.sha256, lambda item: True, limit=50)


def test_what_an_export_left_out_stays_with_the_snapshot(store: SnapshotStore) -> None:
    """`complete` and `omitted` are those of the writing."""
    with store.writer() as writer:
        snapshot = writer.finish(complete=False, omitted=[Omission("s", "socket")])

    assert not snapshot.complete
    assert snapshot.omitted == (Omission("s", "socket"),)
