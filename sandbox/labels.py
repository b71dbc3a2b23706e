"""What our containers carry, so that a sweep finds orphans and never a living neighbour's sandbox."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

MARK: Final = "takeover"
RUN: Final = "takeover.run"
TRIAL: Final = "takeover.trial"
PID: Final = "takeover.host-pid"
OWNER: Final = "takeover.owner"


def ours() -> str:
    """The label filter that every object of ours passes and nothing else does."""
    return f"{MARK}=1"


def labels(extra: Mapping[str, str], run: str | None = None) -> dict[str, str]:
    """The labels of a new container of this process."""
    return {**({RUN: run} if run else {}), **extra, MARK: "1", PID: str(os.getpid()), OWNER: owner()}


def run_labels(run: str, trial: str) -> dict[str, str]:
    """What ties a sandbox to its run and trial."""
    return {RUN: run, TRIAL: trial}


def owner() -> str:
    """This process: boot, PID namespace, PID and start time; empty where the system does not tell."""
    place = _place()
    start = _start_time(os.getpid())
    return f"{place}/{os.getpid()}/{start}" if place and start else ""


def orphaned(carried: Mapping[str, str]) -> bool:
    """Whether the owner of a container is known to be gone.

    A process of another host or of another PID namespace cannot be seen from here, so it counts as alive:
    the container of a killed one ends with its wire.
    """
    place, pid, start = ("", "", *carried.get(OWNER, "").rsplit("/", 2))[-3:]
    if not place or not pid.isdecimal() or place != _place():
        return False
    now = _start_time(int(pid))
    return now != start if now else not _exists(int(pid))


def free_to_go(carried: Mapping[str, str]) -> bool:
    """Whether no other living process owns a container: two folders may hold runs of the same name."""
    return carried.get(OWNER, "") == owner() or orphaned(carried)


def _place() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        namespace = os.readlink("/proc/self/ns/pid")  # noqa: PTH115  # a name, not a path
    except OSError:
        return ""
    return f"{boot}/{namespace}"


def _start_time(pid: int) -> str | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # The command's name stands in parentheses and may hold anything, blanks and parentheses included.
    fields = stat.rpartition(b")")[2].split()
    return fields[19].decode("ascii")


def _exists(pid: int) -> bool:
    # /proc may hide the processes of other users; a signal tells all the same.
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
