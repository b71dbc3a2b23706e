"""A task's hidden checks under pytest: collected once, and run in forks of the process that did (checkserver.py).

A run knows the expected values and nothing of sandboxes: each question goes to the parent as bytes and comes back
as bytes. What happened is told as messages, never read from printed text. Nothing of the user's pytest set-up takes
part: no configuration file, no conftest, no plugin but pytest's own core and the one below.
"""

from __future__ import annotations

import inspect
import json
import os
import random
import secrets
import sys
from collections.abc import Callable, Generator, Iterator
from multiprocessing.connection import Connection
from typing import Any, Literal

import pytest
from _pytest.config import default_plugins

from .answers import SubjectGone
from .plain import shown
from .subject import Observed, Subject, SubjectFailed
from .text import one_line, short

CORE_PLUGINS = {"mark", "main", "runner", "fixtures", "helpconfig", "python", "assertion", "reports"}
KEPT_OBSERVATIONS = 8

for _name in sorted(CORE_PLUGINS):
    __import__(f"_pytest.{_name}")


class Parameters(dict[str, Any]):
    """The values of a task's variant, as `p["late_fee_bps"]` or `p.late_fee_bps`."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the task has no parameter {name}") from None


class PipeChannel:
    """The way to the parent, who asks on our behalf. What was to be told before a run began is told when it does."""

    def __init__(self) -> None:
        self._connection: Connection | None = None
        self._early: list[dict[str, object]] = []

    def connect(self, connection: Connection) -> None:
        """A run begins."""
        self._connection = connection
        for message in self._early:
            self.send(**message)

    @property
    def connected(self) -> bool:
        """Whether this is a run."""
        return self._connection is not None

    def send(self, **message: object) -> None:
        """One message to the parent."""
        if self._connection is None:
            self._early.append(message)
        else:
            self._connection.send_bytes(json.dumps(message, ensure_ascii=True).encode("ascii"))

    def ask(self, request: bytes, timeout: float) -> bytes:
        """The answering line."""
        assert self._connection is not None, "checks ask in a run, not while they are collected"
        self.send(kind="ask", timeout=timeout, request=request.decode("ascii"))
        answer = json.loads(self._connection.recv_bytes())
        if "line" in answer:
            return answer["line"].encode("latin-1")  # type: ignore[no-any-return]
        raise SubjectGone(answer["how"], answer["detail"])


def check_id(name: str) -> str:
    """The requirement that a function tests: `R3` of `test_R3_late_fee[0-x]`."""
    return name.partition("[")[0].removeprefix("test_").partition("_")[0]


class Reporter:
    """The only plugin beside pytest's core: the fixtures of the checks, the canaries, and the results as messages."""

    def __init__(self, parameters: dict[str, Any], next_run: Callable[[], Connection]) -> None:
        self.channel = PipeChannel()
        self._next_run = next_run
        self._parameters = Parameters(parameters)
        self._subject = Subject(self.channel)

    def begin(self) -> None:
        """Become a run: what follows happens in each fork."""
        if not self.channel.connected:
            # Evidence may quote a line of a check; where modules are from is looked up once here, not in every run.
            inspect.getmodule(inspect.currentframe())
            self.channel.connect(self._next_run())

    @pytest.fixture
    def subject(self) -> Subject:
        """The agent's code."""
        return self._subject

    @pytest.fixture
    def p(self) -> Parameters:
        """The values of this variant of the task."""
        return self._parameters

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Tells what there is."""
        for item in items:
            if {mark.name for mark in item.iter_markers()} & {"skip", "skipif", "xfail"}:
                self.channel.send(kind="broken", why=f"{item.name} may be skipped; a hidden check always counts")
        self.channel.send(kind="collected", names=[item.name for item in items])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Begins a run, with canaries first and last: one that must pass, one that must fail."""
        self.begin()
        if session.items:
            parent = session.items[0].parent
            first, last = (list(canaries(parent, self.channel)) for _ in "12")
            session.items[:] = [*first, *session.items, *last]
        return (yield)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A check file that cannot be read breaks the run."""
        if not report.passed:
            self.channel.send(kind="broken", why=one_line(f"{report.nodeid}: {report.longrepr}", 600))

    def pytest_internalerror(self, excrepr: object) -> None:
        """So does an error in pytest itself."""
        self.channel.send(kind="broken", why=one_line(str(excrepr)[-600:], 600))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Tells which check runs, and forgets what the one before saw."""
        self._subject = Subject(self.channel)
        self.channel.send(kind="start", node=nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> pytest.TestReport:
        """Sends what each phase came to; the report that pytest would render is left empty, which saves half the time."""
        kind = error_kind(call.excinfo.value) if call.excinfo else None
        if call.when == "call" or kind:
            self.channel.send(
                kind="result",
                name=item.name,
                phase=call.when,
                error=kind,
                evidence=evidence(call.excinfo, self._subject.log) if call.excinfo else "",
                observed=[one_line(text, 300) for text in self._subject.log[-KEPT_OBSERVATIONS:]],
            )
        if call.when == "teardown":
            self.channel.send(kind="imports", pairs=sorted(self._subject.imports))
        outcome: Literal["passed", "failed"] = "failed" if kind else "passed"
        when = call.when if call.when != "collect" else "setup"
        return pytest.TestReport(item.nodeid, item.location, {}, outcome, None, when)

    def pytest_assertrepr_compare(self, op: str, left: object, right: object) -> list[str] | None:
        """Words for `subject.call(...) == expected`."""
        if not isinstance(left, Observed) or op != "==":
            return None
        return [short(left.outcome.describe(left.what), 300), f"expected {short(shown(right))}"]


def canaries(parent: Any, channel: PipeChannel) -> Iterator[pytest.Function]:
    """Two checks of the whole path to the worker and back, under names that nobody can know."""
    for must_pass in random.sample([True, False], 2):
        name = f"test_{secrets.token_hex(8)}_canary"
        a, b = secrets.randbelow(10**6), secrets.randbelow(10**6)
        channel.send(kind="canary", name=name, must_pass=must_pass)
        yield pytest.Function.from_parent(parent, name=name, callobj=_canary(a, b, a + b + (not must_pass)))


def _canary(a: int, b: int, expected: int) -> Callable[[Subject], None]:
    def canary(subject: Subject) -> None:
        # With a text of its own: to look one up in the source takes longer than all that it costs to fail.
        assert subject.call("operator:add", a, b) == expected, "a sum is not what it must be"

    return canary


def error_kind(error: BaseException) -> str:
    """`subject` when the code gave no value, `assertion` when a wrong one, `error` when the check itself fell over."""
    if isinstance(error, SubjectFailed):
        return "subject"
    if isinstance(error, (pytest.skip.Exception, pytest.xfail.Exception)):
        return "skipped"
    return "assertion" if isinstance(error, AssertionError) else "error"


def evidence(excinfo: pytest.ExceptionInfo[BaseException], log: list[str]) -> str:
    """The reason in one line: what was compared, else the statement, and what the code answered last."""
    error = excinfo.value
    if not isinstance(error, AssertionError):
        text = f"{type(error).__name__}: {error}"
    else:
        # Lines that begin so are pytest's own explanations and differences.
        noise = ("+ ", "- ", "? ", "Full diff", "Use -v")
        lines = [line.strip() for line in str(error).removeprefix("assert ").splitlines()]
        text = "; ".join(line for line in lines if line and not line.startswith(noise))
        if text in ("", "False") or text.startswith("not "):
            text = str(excinfo.traceback[-1].statement).strip()
    if log and log[-1] not in text:
        text = f"{short(text, 200)}; {log[-1]}"
    return one_line(text)


def run(folder: str, parameters: dict[str, Any], cache: str, next_run: Callable[[], Connection]) -> None:
    """Collect the checks; `next_run` forks, and returns in each run. `cache` is a private directory for compiled checks."""
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    for name in [name for name in os.environ if name.startswith("PYTEST")]:
        del os.environ[name]
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    sys.pycache_prefix, sys.dont_write_bytecode = cache, False
    blocked = [argument for name in default_plugins if name not in CORE_PLUGINS for argument in ("-p", f"no:{name}")]
    arguments = ["--noconftest", "-c", os.devnull, f"--rootdir={folder}", "--import-mode=importlib", folder]
    reporter = Reporter(parameters, next_run)
    status = pytest.main([*blocked, *arguments], plugins=[reporter])
    reporter.begin()  # where there was nothing to run
    reporter.channel.send(kind="done", status=int(status))
