"""Take in a folder that somebody's agent worked in. It is hostile: no link followed, nothing in it run."""

from __future__ import annotations

from pathlib import Path

from ..sandbox.caps import Caps
from ..sandbox.errors import InputError, WireBroken
from ..sandbox.guest.files import Caps as WalkCaps
from ..sandbox.guest.files import Exporter
from ..sandbox.limits import Limits
from ..sandbox.snapshot import Omission, Snapshot
from ..sandbox.store import SnapshotStore
from ..sandbox.treewire import unpack_tree


def take_in(folder: Path, store: SnapshotStore, limits: Limits | None = None) -> Snapshot:
    """The snapshot of a folder, by the same walk that the guest does in a sandbox; InputError if it cannot be read.

    What is beyond the limits of a session's workspace is left out, and the snapshot says so.
    """
    limits = limits or Limits()
    caps = Caps(max_files=limits.inodes - 1, max_bytes=limits.workspace)
    walk = Exporter(str(folder), WalkCaps(caps.max_files, caps.max_bytes, caps.max_depth, caps.max_path))
    try:
        with store.writer(caps) as writer:
            for item, chunks in unpack_tree(walk.frames(), caps):
                writer.add(item, chunks)
            omitted = [Omission(path, reason) for path, reason in walk.omitted]
            return writer.finish(complete=walk.complete, omitted=omitted)
    except (OSError, WireBroken) as error:
        raise InputError(
            f"{folder}: cannot be read whole: {error}", hint="Nothing may write to it meanwhile."
        ) from error
