"""Plant a poison into a folder of this machine: `takeover inject-poison-pill`.

The folder is hostile. It is taken in as bytes, planted in a sandbox, and only what changed is written back: below
descriptors of its own directories, never through a link, each file whole. git runs in the sandbox alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from ..poison.model import Pill
from ..poison.plant import plant
from ..poison.record import PlantRecord
from ..sandbox.engine import Opener
from ..sandbox.errors import InputError
from ..sandbox.store import SnapshotStore
from ..sandbox.tree import Manifest, TreeItem, encode_path
from ..tiers.task import Task
from .intake import take_in

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_CHUNK = 1 << 18


def inject_into_folder(engine: Opener, folder: Path, pill: Pill, task: Task) -> PlantRecord:
    """Plant into a folder and say what was planted; InputError, and an untouched folder, where there is no place."""
    with tempfile.TemporaryDirectory(prefix="takeover-") as scratch:
        store = SnapshotStore(Path(scratch))
        before = take_in(folder, store)
        planted = plant(engine, store, before, pill, task)
        if planted.record.refused is not None:
            raise InputError(f"{folder}: {pill.name} has no place here: {planted.record.refused}")
        after = planted.snapshot.manifest
        changed = set(before.manifest.diff(after).paths)
        if gone := [path for path in changed if path not in after]:
            raise InputError(f"{folder}: planting would remove {gone[0]!r}")
        _write_back(folder, store, planted.snapshot.sha256, before.manifest, changed)
        return planted.record


def _write_back(folder: Path, store: SnapshotStore, sha256: str, before: Manifest, changed: set[str]) -> None:
    try:
        with _opened(folder) as root:
            # What git looks things up in comes last: whoever interrupts this leaves a repository that holds together.
            for late in (False, True):
                for item, stream in store.open(sha256):
                    if item.path in changed and _is_late(item.path) is late:
                        _put(root, item, stream, before.get(item.path))
    except OSError as error:
        raise InputError(
            f"{folder}: cannot be written to: {error.strerror or error}", hint="Nothing may write to it meanwhile."
        ) from error


def _is_late(path: str) -> bool:
    return path.startswith(".git/") and not path.startswith(".git/objects")


def _put(root: int, item: TreeItem, stream: BinaryIO, before: TreeItem | None) -> None:
    with contextlib.ExitStack() as stack:
        parts = [os.fsdecode(part) for part in encode_path(item.path).split(b"/")]
        parent = root
        for part in parts[:-1]:
            parent = stack.enter_context(_opened(part, parent))
        if item.kind == "d":
            if before is None:
                os.mkdir(parts[-1], 0o755, dir_fd=parent)
            return
        _check(parent, parts[-1], before)
        _replace(parent, parts[-1], item.mode, stream)


def _check(parent: int, name: str, before: TreeItem | None) -> None:
    """The file must be what was taken in; OSError if it is not, or if it is no plain file."""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=parent)
    except FileNotFoundError:
        if before is None:
            return
        raise
    with os.fdopen(descriptor, "rb") as file:
        if before is None or not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise FileExistsError(17, f"{name} appeared meanwhile")
        digest = hashlib.sha256()
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
        if digest.hexdigest() != before.sha256:
            raise FileExistsError(17, f"{name} changed meanwhile")


def _replace(parent: int, name: str, mode: int, stream: BinaryIO) -> None:
    temporary = f".{secrets.token_hex(8)}.part"
    descriptor = os.open(
        temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=parent
    )
    try:
        with os.fdopen(descriptor, "wb") as file:
            while chunk := stream.read(_CHUNK):
                file.write(chunk)
            file.flush()
            os.fchmod(descriptor, mode)
            os.fsync(descriptor)
        os.replace(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=parent)
        raise


@contextlib.contextmanager
def _opened(path: Path | str, parent: int | None = None) -> Iterator[int]:
    flags = _FOLDER if parent is not None else os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    descriptor = os.open(path, flags, dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
