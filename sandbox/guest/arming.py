"""A rule that sleeps until the agent has committed something with which the task's visible tests pass.

When a new commit is found, no paused call goes on until the tests have ended: what they see is what was committed.
"""

from __future__ import annotations

import os

from . import reaper
from .spawn import Program, spawn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from .commits import Repository
    from .place import Place
    from .spawn import Child

MAX_LOOKS = 50
TESTS_LIMIT = 120.0
# A process cannot give up a supplementary group, so whatever the tests start is known by this one.
MARK = 61616


class Arming:
    """Whether the rule is awake. `arm(commit)` is called when it is to be; `start()` begins the tests, if there are any."""

    def __init__(self, repository: Repository, arm: Callable[[bytes], None]) -> None:
        self.armed = False
        self.start: Callable[[], None] | None = None
        self._repository, self._arm = repository, arm
        self._tested: bytes | None = None
        self._looks = 0

    @property
    def testing(self) -> bool:
        """Whether the tests run, and everybody waits for them."""
        return self._tested is not None

    def admits(self) -> bool:
        """Look for a commit, and say whether paused calls may go on."""
        if self.armed or self.testing or self._looks >= MAX_LOOKS:
            return not self.testing
        commit = self._repository.new_commit()
        if commit is None:
            return True
        self._looks += 1
        if self.start is None:
            self._wake(commit)
        else:
            self._tested = commit
            self.start()
        return not self.testing

    def tested(self, passed: bool) -> None:
        """The tests have ended."""
        commit, self._tested = self._tested, None
        if passed and commit is not None:
            self._wake(commit)

    def close(self) -> None:
        """Look no more."""
        self._repository.close()

    def _wake(self, commit: bytes) -> None:
        self.armed = True
        self._arm(commit)


class VisibleTests:
    """The task's own tests as a process of the agent, beside its others and not behind the barrier.

    `run` is the frame of the run that they belong to; `ended` is told of whoever is found to have ended meanwhile.
    """

    def __init__(
        self, argv: tuple[str, ...], run: Mapping[str, Any], place: Place, ended: Callable[[int, int], None]
    ) -> None:
        env = {**(run.get("env") or {}), "PYTHONDONTWRITEBYTECODE": "1"}
        self._program = Program({**run, "argv": list(argv), "env": env, "cwd": place.workspace, "stdin": False})
        self._program.silent = True
        self._place, self._ended = place, ended
        self._child: Child | None = None
        self._status: int | None = None

    def start(self) -> bool:
        """Begin; False if there can be no more processes."""
        place = self._place
        try:
            self._child = spawn(self._program, place.uid, place.gid, place.machine, place.nofile, None, (MARK,))
        except OSError:
            return False
        self._status = None
        return True

    def ended(self, pid: int, status: int) -> bool:
        """Some process has ended: whether it was this one."""
        if self._child is None or self._child.pid != pid:
            return False
        self._status = status
        return True

    @property
    def over(self) -> bool:
        """Whether they have ended by themselves, and nobody has asked for the result yet."""
        return self._child is not None and self._status is not None

    def result(self) -> tuple[bool, bool]:
        """End what is left of them: whether they passed, and whether all of it is gone."""
        status = self._status
        gone = reaper.kill_marked(MARK, self._ended)
        self.close()
        return status is not None and os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0, gone

    def close(self) -> None:
        """Let go of it."""
        if self._child is not None:
            os.close(self._child.status)
        self._child = self._status = None
