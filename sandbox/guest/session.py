"""One session under a cutoff rule: what inotify sees, what waits at the barrier, and the moment of the cut.

The order of things is the kernel's. Before a paused call goes on, everything that happened before it has
been looked at; so nothing that must pass the barrier comes after the edit that ends the session. What
needs no passing (a write to a file that was opened earlier) is found afterwards and reported as late.
"""

from __future__ import annotations

import time

from .arming import Arming
from .commits import Repository
from .edits import Ledger
from .gate import Gate
from .validation import Tests
from .watch import Watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .barrier import Call
    from .edits import Edit, Rule
    from .hold import Hold


class Cut:
    """Why and where the session ended."""

    __slots__ = ("how", "n", "path")

    def __init__(self, how: str, n: int, path: bytes | None) -> None:
        self.how, self.n, self.path = how, n, path


class Session:
    """Watches one run through an empty inotify queue. `kill` is called the instant the rule fires, before anything else is done."""

    # How long one look at the workspace may take before the wire gets its turn, and the last look of all, in seconds.
    SLICE, LAST_LOOK = 0.05, 5.0

    def __init__(self, rule: Rule, hold: Hold, queue: int, root: str, kill: Callable[[], None]) -> None:
        self.rule, self._kill = rule, kill
        self._on_edit: Callable[[Edit], None] = _nobody
        self._on_test: Callable[[list[str], int | None, bool], None] = _nobody
        self._on_armed: Callable[[bytes], None] = _nobody
        self.ledger = Ledger()
        self.cut: Cut | None = None
        self.over = False
        self.gate = Gate(hold, self.look, self._passes)
        self.arming = Arming(Repository(root), self._arm) if rule.armed else None
        self.problem: str | None = None  # why the cutoff is not exact
        self.tests = Tests(rule, lambda argv: self._on_test(argv, None, False), self._test_finished)
        self._behind = False
        self._unfinished: set[bytes] = set()  # changed, not closed yet
        self._after: set[bytes] = set()  # anything happened to it after the cut
        self.watch = Watch(queue, root, self)
        for path, content in self.watch.start():
            self.ledger.begin(path, content)

    def tell(
        self,
        on_edit: Callable[[Edit], None],
        on_test: Callable[[list[str], int | None, bool], None],
        on_armed: Callable[[bytes], None],
    ) -> None:
        """Who is told of edits, of test commands (argv, exit code, whether it ended), and that the rule is armed."""
        self._on_edit, self._on_test, self._on_armed = on_edit, on_test, on_armed

    # What the loop calls.

    def settle(self, seconds: float = SLICE) -> bool:
        """Look at what has happened; True when all of it is looked at."""
        self._behind = not self.watch.pump(time.monotonic() + seconds)
        return not self._behind

    def look(self) -> bool:
        """Look at what has happened, a commit included; whether paused calls may go on."""
        arming = self.arming
        if arming is None or arming.armed:
            return self._clear()
        # Once more after it: what happened while the rule was being armed is its business already.
        return self._clear() and arming.admits() and self._clear()

    @property
    def busy(self) -> bool:
        """Whether a look was broken off to give the wire its turn, and is to go on."""
        return self._behind and not self.over

    def end(self, how: str) -> None:
        """Cut now, for a reason that is no edit."""
        if not self.over:
            self._cut(Cut(how, self.ledger.edits, None))

    def stop(self) -> None:
        """The run ends without a cut: what the death of processes finishes from here on is nobody's edit."""
        self.over = True

    # What the watch calls.

    def counts(self, path: str) -> bool:
        """Whether a change of this path can be an edit."""
        return self.rule.counts(path)

    def enters(self, folder: str) -> bool:
        """Whether anything below a folder of this name can count."""
        return self.rule.enters(folder)

    def finished(self, path: bytes, how: str) -> None:
        """A file was closed after writing, or came into place."""
        if self.over:
            # Dying closes what was open; that alone changes nothing.
            if how != "written":
                self._after.add(path)
            return
        self._unfinished.discard(path)
        self.gate.hold.ends(path)
        edit = self.ledger.observe(path, self.watch.content(path), how)
        if edit is None:
            return
        if self._awake and self.rule.fires_on_edit(edit.n):
            self._cut(Cut(how, edit.n, path))
        self._on_edit(edit)

    def modified(self, path: bytes) -> None:
        """Bytes changed in a file that is open, or by truncate(2), which opens and closes nothing."""
        if self.over:
            self._after.add(path)
        elif path not in self._unfinished and self.gate.took_effect("truncate"):
            self.finished(path, "truncated")
        else:
            self._unfinished.add(path)

    def created(self, path: bytes, links: int) -> None:
        """A name appeared: by a link, which is all there will be to see, or by an open, whose close will follow."""
        if self.over:
            self._after.add(path)
        elif self.gate.listener is None:
            self.finished(path, "linked") if links > 1 else self._unfinished.add(path)
        elif (links > 1 or not self.gate.opening) and self.gate.took_effect("link", "linkat"):
            self.finished(path, "linked")
        else:
            self._unfinished.add(path)

    # The verdict.

    def close(self) -> dict[str, Any]:
        """When nobody is left: what the session changed, and what came after the cut. Closes everything."""
        self.over = True
        if not self.settle(self.LAST_LOOK):
            self.problem = self.problem or "more had changed than could be looked at"
        contents = self.watch.contents(time.monotonic() + self.LAST_LOOK)
        unseen = [path for path, now in contents.items() if self.ledger.changed_since_last_edit(path, now)]
        cut = self.cut
        late = [path for path in unseen if path in self._after or path not in self._unfinished]
        if cut and cut.path in self._after and cut.path not in late:
            late.append(cut.path)
        if not cut or not self.rule.has_moment:
            late = []  # a moment in time has no afterwards
        self.tests.close()
        if self.arming:
            self.arming.close()
        self.watch.close()
        self.gate.close()
        return {
            "edited": self.ledger.edited(contents),
            "first_edit": self.ledger.first,
            "late": sorted(late),
            "open": sorted(set(unseen) - set(late)),
        }

    @property
    def why_not_exact(self) -> str | None:
        """What keeps this cutoff from being exact, apart from what came late."""
        if self.watch.overflowed:
            return "more happened at once than the kernel's queue holds"
        return self.watch.limited or self.problem

    # Inside.

    def _clear(self) -> bool:
        return self.settle() and not self.over

    @property
    def _awake(self) -> bool:
        return self.arming is None or self.arming.armed

    def _arm(self, commit: bytes) -> None:
        """From here on edits count: what is there now is what they are compared with."""
        self.ledger = Ledger()
        for path, content in self.watch.contents(time.monotonic() + self.LAST_LOOK).items():
            self.ledger.begin(path, content)
        self.tests.forget_edits()
        self.gate.renew()
        self._on_armed(commit)

    def _cut(self, cut: Cut) -> None:
        self.cut, self.over = cut, True
        self._kill()

    def _test_finished(self, argv: list[str], code: int | None, edits_before: int) -> None:
        if self.over:
            return
        if self._awake and self.rule.fires_on_test(edits_before, code):
            self.end("validation")
        self._on_test(argv, code, True)

    def _passes(self, call: Call) -> bool:
        if not self.rule.watches_tests:
            return True
        if call.name in ("execve", "execveat"):
            self.tests.exec_called(call.tid, self.ledger.edits)
        elif call.name == "exit_group":
            self.tests.exit_called(call.tid, call.arguments[0])
        return not self.over


def _nobody(*_: object) -> None:
    """Who is told before anybody has asked."""
