"""What a run stands on and does not freeze: room on the disk, and the container engine."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from ..sandbox.engine import EngineInfo
from ..sandbox.errors import InputError, StorageError
from ..sandbox.limits import MIB
from .record import RunPaths, read_json, write_json

# What a trial may be expected to write: snapshots, output and exchanges of its sessions. Most write far less.
ROOM_FOR_RUN, ROOM_FOR_TRIAL = 16 * MIB, 4 * MIB
# A sandbox behaves as these say; where the engine is and how large its machine is changes no verdict.
COMPARED = ("name", "version", "kernel", "system", "arch", "cgroup", "runtime", "rootless", "seccomp")


def need_room(folder: Path, trials: int) -> None:
    """StorageError unless the disk of a run's folder has room for that many trials."""
    if not trials:
        return
    place = folder.absolute()
    while not place.is_dir():
        place = place.parent
    found = os.statvfs(place)
    free, needed = found.f_bavail * found.f_frsize, ROOM_FOR_RUN + trials * ROOM_FOR_TRIAL
    if free < needed:
        raise StorageError(
            f"{folder}: {free / MIB:,.0f} MiB are free, and the run may need {needed / MIB:,.0f} MiB",
            hint="Free some space or choose another --runs.",
        )


def known_engine(paths: RunPaths, info: EngineInfo) -> str | None:
    """Keep the engine among those that worked on a run; what a person should know if it is not the last one of them."""
    known = _engines(paths)
    if not known or known[-1] != info:
        write_json(paths.engines, [asdict(one) for one in (*known, info)])
    if not known or not (changed := _changes(known[-1], info)):
        return None
    return f"another engine than before: {changed}; trials on both sides may differ for that reason"


def _changes(before: EngineInfo, now: EngineInfo) -> str:
    pairs = ((name, getattr(before, name), getattr(now, name)) for name in COMPARED)
    return ", ".join(f"{name} {old} -> {new}" for name, old, new in pairs if old != new)


def _engines(paths: RunPaths) -> tuple[EngineInfo, ...]:
    if not paths.engines.exists():
        return ()
    try:
        return TypeAdapter(tuple[EngineInfo, ...]).validate_python(read_json(paths.engines))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise InputError(f"{paths.engines}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
