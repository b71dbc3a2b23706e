"""Where the agent lives."""

from __future__ import annotations


class Place:
    """Where and as whom runs are started; `no_barrier` says why there is none, `nofile` is the agent's soft limit.

    `gateway` says whether a run may have one.
    """

    gateway = False

    def __init__(self, workspace: str, uid: int, gid: int, machine: str, nofile: int, no_barrier: str | None) -> None:
        self.workspace, self.uid, self.gid = workspace, uid, gid
        self.machine, self.nofile, self.no_barrier = machine, nofile, no_barrier
