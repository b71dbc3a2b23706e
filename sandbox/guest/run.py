"""One run: a process of the agent, its streams, its clock, and its exit frame."""

from __future__ import annotations

import os
import time
from collections import deque

from . import loop as loops
from . import memory
from .capture import Capture
from .files import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from .edits import Edit
    from .link import Link
    from .loop import Loop
    from .session import Session
    from .spawn import Child

READ_SIZE = 1 << 16
MAX_LAST_READS = 64
MAX_INPUT = 16 << 20
MAX_EDIT_FRAMES = 1000
MAX_PATHS, MAX_LIST = 1000, 300_000


class Stream:
    """One output stream: read always, sent while the wire has room, kept within its limit."""

    def __init__(self, run: Run, number: int, descriptor: int, capture: Capture) -> None:
        self._run, self._number, self._descriptor, self.capture = run, number, descriptor, capture
        self._listening = False

    def listen(self) -> None:
        """Have the loop read it, if it is open and not listened to yet."""
        if self._descriptor >= 0 and not self._listening:
            self._listening = True
            self._run.loop.add(self._descriptor, self._ready)

    def _ready(self) -> None:
        if self.capture.sending and not self._run.link.has_room:
            # The process waits until the host has read. Past its head a stream costs the wire nothing.
            self._run.loop.remove(self._descriptor)
            self._listening = False
        else:
            self._read()

    def _read(self) -> bool:
        try:
            data = os.read(self._descriptor, READ_SIZE)
        except BlockingIOError:
            return False
        if not data:
            self.close()
            return False
        self._send(self.capture.feed(data))
        return True

    def finish(self) -> None:
        """Read what is left in the pipe, send the tail, close."""
        for _ in range(MAX_LAST_READS):  # somebody else's daemon may hold the other end and never stop
            if self._descriptor < 0 or not self._read():
                break
        self.close()
        rest = self.capture.end()
        for start in range(0, len(rest), READ_SIZE):
            gap: dict[str, Any] = {"gap": self.capture.gap} if self.capture.gap and start == 0 else {}
            self._send(rest[start : start + READ_SIZE], **gap)

    def close(self) -> None:
        """Let go of the pipe."""
        if self._descriptor >= 0:
            self._run.loop.remove(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1

    def _send(self, data: bytes, **fields: Any) -> None:
        if data:
            self._run.link.send("output", data, id=self._run.id, s=self._number, **fields)


class Run:
    """A live process of the agent."""

    def __init__(self, number: int, loop: Loop, link: Link, child: Child, limit: int, session: Session | None) -> None:
        self.id, self.loop, self.link, self.child, self.session = number, loop, link, child, session
        head_only = child.stdin >= 0
        self.streams = [
            Stream(self, 1, child.stdout, Capture(limit, head_only)),
            Stream(self, 2, child.stderr, Capture(limit, head_only)),
        ]
        self.began = time.monotonic()
        self.started = False
        self.status: int | None = None
        self.killed = 0
        self._stdin = child.stdin
        self._input: deque[memoryview] = deque()
        self._input_size = 0
        self._input_ends = False
        self._oom_before = memory.oom_kills()
        self._edit_frames = 0

    def give(self, data: bytes, ends: bool) -> bool:
        """Queue input for the process; False (and its stdin closed) if it lets too much of it lie."""
        if self._stdin < 0:
            return True
        if self._input_size + len(data) > MAX_INPUT:
            self._close_stdin()
            return False
        if data:
            self._input.append(memoryview(data))
            self._input_size += len(data)
        self._input_ends = self._input_ends or ends
        self._write()
        return True

    def edit(self, edit: Edit) -> None:
        """Tell the host of an edit."""
        self._edit_frames += 1
        if self._edit_frames <= MAX_EDIT_FRAMES:
            at = round(time.monotonic() - self.began, 6)
            self.link.send("edit", id=self.id, path=shown(edit.path), how=edit.how, n=edit.n, at=at)

    def test(self, argv: list[str], code: int | None, ended: bool) -> None:
        """Tell the host of a test command that began or ended."""
        self._edit_frames += 1
        if self._edit_frames <= MAX_EDIT_FRAMES:
            short = [text[:1000] for text in argv[:100]]
            fields: dict[str, Any] = {"code": code} if ended else {}
            self.link.send("exec", id=self.id, argv=short, **fields)

    def armed(self, commit: bytes) -> None:
        """Tell the host that the rule is armed from here on."""
        at = round(time.monotonic() - self.began, 6)
        self.link.send("armed", id=self.id, commit=commit.decode("ascii"), at=at)

    def resume(self) -> None:
        """Read on where the wire had no room."""
        if self.started and self.link.has_room:
            for stream in self.streams:
                stream.listen()

    def discard(self) -> None:
        """Let go of everything: the program never ran."""
        for stream in self.streams:
            stream.close()
        self._close_stdin()
        if self.session:
            self.session.close()

    def finish(self, how: str) -> None:
        """Say how it ended, when nothing of it lives any more."""
        for stream in self.streams:
            stream.finish()
        self._close_stdin()
        fields = self._verdict(how)
        kills = max(0, memory.oom_kills() - self._oom_before)
        captures = [stream.capture for stream in self.streams]
        self.link.send(
            "exit",
            id=self.id,
            how=how,
            oom=kills > 0,
            oom_kills=kills,
            truncated=any(capture.truncated for capture in captures),
            output_bytes={"1": captures[0].total, "2": captures[1].total},
            seconds=round(time.monotonic() - self.began, 6),
            killed=self.killed,
            **fields,
        )

    def _verdict(self, how: str) -> dict[str, Any]:
        status = self.status if how != "cutoff" and self.status is not None else None
        fields: dict[str, Any] = {
            "code": None,
            "signal": None,
            "cutoff": None,
            "first_edit": None,
            "edits": 0,
            "blind": None,
            "armed": None,
        }
        if status is not None:
            fields["code"] = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
            fields["signal"] = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
        if self.session is None:
            return {**fields, "edited": []}
        session, result = self.session, self.session.close()
        fields.update(_listed("edited", result["edited"]))
        first = result["first_edit"]
        fields["blind"] = session.watch.limited
        fields["armed"] = session.arming.armed if session.arming else None
        fields.update(first_edit=None if first is None else shown(first), edits=session.ledger.edits)
        if session.cut:
            cut, why_not = session.cut, session.why_not_exact
            fields["cutoff"] = {
                "rule": session.rule.name,
                "n": cut.n,
                "path": None if cut.path is None else shown(cut.path),
                "how": cut.how,
                "exact": why_not is None and not result["late"],
                "why_not": why_not or ("changes came after the cut" if result["late"] else None),
                **_listed("late", result["late"]),
                **_listed("open", result["open"]),
            }
        return fields

    def _write(self) -> None:
        while self._input:
            try:
                written = os.write(self._stdin, self._input[0])
            except BlockingIOError:
                self.loop.remove(self._stdin)
                self.loop.add(self._stdin, self._write, loops.OUT)
                return
            except BrokenPipeError:
                self._close_stdin()
                return
            self._input_size -= written
            if written == len(self._input[0]):
                self._input.popleft()
            else:
                self._input[0] = self._input[0][written:]
        self.loop.remove(self._stdin)
        if self._input_ends:
            self._close_stdin()

    def _close_stdin(self) -> None:
        if self._stdin >= 0:
            self.loop.remove(self._stdin)
            os.close(self._stdin)
        self._stdin, self._input_size = -1, 0
        self._input.clear()


def _listed(name: str, paths: Iterable[bytes]) -> dict[str, Any]:
    """A list of paths that fits into a header, and how many it leaves out."""
    texts: list[str] = []
    size = more = 0
    for path in paths:
        text = shown(path)
        size += 4 + len(text) * (2 if text.isascii() and text.isprintable() else 6)  # as JSON writes it, at most
        if len(texts) >= MAX_PATHS or size > MAX_LIST:
            more += 1
        else:
            texts.append(text)
    return {name: texts, **({name + "_more": more} if more else {})}
