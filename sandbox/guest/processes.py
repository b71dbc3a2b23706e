"""All runs of this sandbox: starting them, ending them, and never leaving anybody behind."""

from __future__ import annotations

import os
import signal

from . import bpf, kernel, reaper
from .arming import VisibleTests
from .edits import RuleError, parse_rule
from .run import Run
from .spawn import Program, SpawnError, spawn
from .supervision import Supervision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .edits import Rule
    from .link import Link
    from .loop import Loop
    from .place import Place
    from .server import Server
    from .session import Session

MAX_OUTPUT = 1 << 40


class Runs:
    """The live runs by id. Only a run without a cutoff may have others beside it."""

    def __init__(self, loop: Loop, link: Link, place: Place) -> None:
        self._loop, self._link, self._place = loop, link, place
        self.live: dict[int, Run] = {}
        self._supervised: dict[int, Supervision] = {}
        self._server: Server | None = None
        self._served: set[int] = set()  # runs that may use it
        self._queue: int | None = None
        self._survivors = 0

    @property
    def busy(self) -> bool:
        """Whether there is something to look at, also if nothing new happens."""
        return any(run.session is not None and run.session.busy for run in self.live.values())

    def start(self, header: dict[str, Any]) -> None:
        """Start what a `run` frame asks for; `started` or `failed` follows."""
        number, place = header["id"], self._place
        session = visible = None
        try:
            program, rule, limit, wall = self._checked(header)
            if rule and rule.armed_test:
                visible = VisibleTests(rule.armed_test, header, place, self._ended)
            if rule:
                session = self._session(rule)
            pause = rule is not None and rule.barrier and self._place.no_barrier is None
            text = bpf.program(self._place.machine, rule.watches_tests) if rule and pause else None
            if header.get("gateway"):
                self._serve(number)
            child = spawn(program, place.uid, place.gid, place.machine, place.nofile, text)
        except (SpawnError, RuleError, OSError) as error:
            if session:
                session.close()
            self._serve_no_more(number)
            number_of_error = error.number if isinstance(error, SpawnError) else getattr(error, "errno", None)
            self._link.send("failed", id=number, why=str(error), errno=number_of_error)
            return
        run = Run(number, self._loop, self._link, child, limit, session)
        self.live[number] = run
        if session:
            supervision = Supervision(self._loop, run, session, lambda: self._finish(run, "cutoff"), visible)
            self._supervised[number] = supervision
            supervision.begin(place.machine, place.no_barrier or "the kernel refused the filter")
        self._loop.add(child.status, lambda: self._launched(run))
        self._loop.at("wall %d" % number, run.began + wall, lambda: self._finish(run, "wall"))

    def input(self, header: dict[str, Any], body: bytes) -> None:
        """Pass input on to a run's stdin."""
        run = self.live.get(header["id"])
        if run and not run.give(body, bool(header.get("eof"))):
            self._link.send("failed", id=run.id, why="input is not read: more than 16 MiB lie waiting", errno=None)

    def response(self, header: dict[str, Any], body: bytes) -> None:
        """Pass on what the host answers to an HTTP request."""
        if self._server:
            self._server.answer(header, body)

    def stop(self, header: dict[str, Any]) -> None:
        """End a run because the host says so."""
        run = self.live.get(header["id"])
        if run:
            self._finish(run, "stopped")

    def stop_all(self) -> None:
        """End every run, and whoever else of the agent may be alive."""
        for run in list(self.live.values()):
            self._finish(run, "stopped")
        reaper.kill_and_reap_all(self._ended)

    def resume(self) -> None:
        """What is to be done in every turn of the loop: reading on, and looking on."""
        for run in list(self.live.values()):
            run.resume()
            if run.session and run.session.busy:
                self._supervised[run.id].look()
        if self._server:
            self._server.resume()

    def children_ended(self) -> None:
        """Some child has ended: gather it, and finish the run whose main process it was."""
        reaper.reap(self._ended)
        for supervision in list(self._supervised.values()):
            supervision.children_ended()
        for run in list(self.live.values()):
            if run.status is not None:
                self._finish(run, "exited")

    def _checked(self, header: dict[str, Any]) -> tuple[Program, Rule | None, int, float]:
        if header["id"] in self.live:
            raise SpawnError("this id is in use")
        program = Program(header)
        data = header.get("cutoff")
        if data is not None and not isinstance(data, dict):
            raise SpawnError("cutoff is not an object")
        rule = None if data is None else parse_rule(data)
        if self.live and (rule or any(run.session for run in self.live.values())):
            raise SpawnError("a run with a cutoff must be the only one")
        if rule and rule.watches_tests and self._place.no_barrier:
            raise RuleError("rule %s needs the barrier: %s" % (rule.name, self._place.no_barrier))
        limit, wall = header.get("output_limit", 1 << 20), header.get("wall", 60.0)
        if type(limit) is not int or not 0 <= limit <= MAX_OUTPUT:
            raise SpawnError("output_limit is not a number of bytes: %r" % (limit,))
        if isinstance(wall, bool) or not isinstance(wall, (int, float)) or not 0 < wall < 1e9:
            raise SpawnError("wall is not a number of seconds: %r" % (wall,))
        return program, rule, limit, float(wall)

    def _session(self, rule: Rule) -> Session:
        # Not at the top: what a session needs takes 5 ms to load, and most sandboxes never have one.
        from .hold import Hold
        from .session import Session

        place = self._place
        if self._queue is None:
            self._queue = kernel.inotify_init()
        hold = Hold(place.workspace, place.uid, place.gid, rule.counts)
        return Session(rule, hold, self._queue, place.workspace, reaper.kill_all)

    def _serve(self, number: int) -> None:
        """Let a run speak to the host over HTTP."""
        from .server import Server  # not at the top for the same reason

        if not self._place.gateway:
            raise SpawnError("a gateway that hello did not ask for")
        if self._server is None:
            self._server = Server(self._loop, self._link, self._admits)
        self._server.open()
        self._served.add(number)

    def _serve_no_more(self, number: int) -> None:
        self._served.discard(number)
        if self._server and not self._served:
            self._server.close()

    def _admits(self) -> bool:
        """Whether a request of the agent may go out: not before all that came earlier was looked at, and not after a cut."""
        return all(supervision.admits() for supervision in list(self._supervised.values()))

    def _launched(self, run: Run) -> None:
        """The program runs, or it will not."""
        if run.started:
            return
        self._loop.remove(run.child.status)
        failure = run.child.outcome()
        run.started = True
        if failure is None:
            session = run.session
            mode = None
            if session and session.rule.barrier:
                mode = "approximate" if session.why_not_exact else "exact"
            raised = session is not None and session.gate.listener is not None
            why = session.why_not_exact if session else None
            self._link.send("started", id=run.id, pid=run.child.pid, barrier=raised, mode=mode, why=why)
            run.resume()
            return
        self._leave(run)
        run.discard()
        self._link.send("failed", id=run.id, why=str(failure), errno=failure.number)

    def _finish(self, run: Run, how: str) -> None:
        if self.live.get(run.id) is not run:
            return
        session = run.session
        if session and not session.over:
            # Who ended by himself has finished what he did; whom we end has not, and may be doing more.
            session.settle(session.LAST_LOOK if how == "exited" else session.SLICE)
            session.stop()
        if session and session.cut:
            how = "cutoff"
        self._survivors = 0
        if len(self.live) == 1:
            reaper.kill_and_reap_all(self._ended)
        else:
            reaper.kill_session(run.child.pid, self._ended)
        run.killed = self._survivors
        # Only now: a program that waits at the barrier to begin would keep us waiting for its word.
        self._launched(run)
        if run.id in self.live:
            self._leave(run)
            run.finish(how)

    def _leave(self, run: Run) -> None:
        del self.live[run.id]
        self._loop.cancel("wall %d" % run.id)
        self._serve_no_more(run.id)
        supervision = self._supervised.pop(run.id, None)
        if supervision:
            supervision.end()

    def _ended(self, pid: int, status: int) -> None:
        main = next((run for run in self.live.values() if run.child.pid == pid), None)
        if main:
            main.status = status
        elif any(supervision.child_ended(pid, status) for supervision in self._supervised.values()):
            return
        elif os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
            self._survivors += 1
