"""The trusted half of the hidden checks: runs them, answers their questions, and accepts nothing but a whole result.

A check passes only when the run is complete: the ids that pytest collected are exactly the task's, every function
reported once, the canaries behaved. Anything else in our own half is `ChecksBroken`, a failure of the machinery;
whatever the agent's code does is a failed check.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal

from ..sandbox.errors import ChecksBroken
from . import checkrun, checkserver
from .answers import Channel, SubjectGone
from .text import one_line

ErrorKind = Literal["assertion", "subject", "error", "tampered"]
CHECK_SECONDS = 60.0
TOTAL_SECONDS = 600.0
# After the subject's time is used up every question fails at once; this is for the checks to say so.
GRACE_SECONDS = 30.0


@dataclass(frozen=True)
class CheckResult:
    """The verdict on one id; it passed if all its functions did, and there was one."""

    id: str
    passed: bool
    evidence: str
    observed: tuple[str, ...] = ()
    error_kind: ErrorKind | None = None


@dataclass(frozen=True)
class CheckRun:
    """All verdicts in the order of the task's ids, and what the workspace's modules were seen to import."""

    results: tuple[CheckResult, ...]
    imports: frozenset[tuple[str, str]] = frozenset()
    tampered: str | None = None


@dataclass
class _Seen:
    """What a run has told so far."""

    names: list[str] | None = None
    canaries: dict[str, bool] = field(default_factory=dict)
    results: dict[str, dict[str, Any]] = field(default_factory=dict)
    imports: set[tuple[str, str]] = field(default_factory=set)
    done: bool = False


def run_checks(
    folder: Path,
    parameters: Mapping[str, object],
    channel: Channel,
    ids: Sequence[str],
    *,
    check_seconds: float = CHECK_SECONDS,
    total_seconds: float = TOTAL_SECONDS,
) -> CheckRun:
    """Runs the pytest files of `folder` against the channel; `ids` is the complete set that they must cover."""
    with checkserver.process(folder, parameters, _cache()) as connection:
        seen = _Conversation(connection, channel, check_seconds, total_seconds).hold()
    return _verdicts(seen, ids)


class _Conversation:
    """The parent's side of one run."""

    def __init__(self, connection: Connection, channel: Channel, check_seconds: float, total_seconds: float) -> None:
        self._connection = connection
        self._channel = channel
        self._check_seconds = check_seconds
        self._end = time.monotonic() + total_seconds
        self._check_end = self._end
        self._seen = _Seen()

    def hold(self) -> _Seen:
        """Listens until the child is done."""
        while not self._seen.done:
            left = self._end + GRACE_SECONDS - time.monotonic()
            if not self._connection.poll(max(0.0, left)):
                raise ChecksBroken("the hidden checks did not end in time")
            with _unbroken():
                message = json.loads(self._connection.recv_bytes())
            self._take(message)
        return self._seen

    def _take(self, message: dict[str, Any]) -> None:
        seen = self._seen
        match message["kind"]:
            case "ask":
                self._answer(message["request"].encode("ascii"), message["timeout"])
            case "start":
                self._check_end = min(self._end, time.monotonic() + self._check_seconds)
            case "canary":
                seen.canaries[message["name"]] = message["must_pass"]
            case "collected":
                seen.names = message["names"]
            case "result":
                if message["error"] or message["name"] not in seen.results:
                    seen.results[message["name"]] = message
            case "imports":
                seen.imports.update((importer, imported) for importer, imported in message["pairs"])
            case "broken":
                raise ChecksBroken(f"the hidden checks cannot run: {message['why']}")
            case "done":
                seen.done = True

    def _answer(self, request: bytes, timeout: float) -> None:
        try:
            if time.monotonic() > self._check_end:
                raise SubjectGone("spent", "the time for this check is used up")
            answer = {"line": self._channel.ask(request, timeout).decode("latin-1")}
        except SubjectGone as gone:
            answer = {"how": gone.how, "detail": one_line(str(gone))}
        with _unbroken():
            self._connection.send_bytes(json.dumps(answer, ensure_ascii=True).encode("ascii"))


@contextlib.contextmanager
def _unbroken() -> Iterator[None]:
    """Around what fails when the child is gone."""
    try:
        yield
    except (EOFError, OSError) as error:
        raise ChecksBroken("the process of the hidden checks ended early") from error


def _verdicts(seen: _Seen, ids: Sequence[str]) -> CheckRun:
    """Holds what was seen against what must have been; only then are there verdicts."""
    names = seen.names or []
    found = {checkrun.check_id(name) for name in names}
    if len(set(names)) != len(names):
        raise ChecksBroken("two hidden checks have the same name")
    if found != set(ids):
        wrong = ", ".join(sorted(found ^ set(ids)))
        raise ChecksBroken(f"the hidden checks do not cover exactly the task's ids; differing: {wrong}")
    silent = [name for name in (*names, *seen.canaries) if name not in seen.results]
    if silent:
        raise ChecksBroken(f"hidden checks without a result: {', '.join(silent[:5])}")
    for name in names:
        result = seen.results[name]
        if result["error"] == "skipped" or (result["phase"] != "call" and result["error"] == "error"):
            raise ChecksBroken(f"the hidden check {name} did not run: {result['evidence'] or result['error']}")
    tampered = _canary_verdict(seen)
    results = tuple(_verdict(one, [seen.results[n] for n in names if checkrun.check_id(n) == one]) for one in ids)
    if tampered:
        results = tuple(CheckResult(r.id, False, tampered, r.observed, "tampered") for r in results)
    return CheckRun(results, frozenset(seen.imports), tampered)


def _canary_verdict(seen: _Seen) -> str | None:
    """None when all four behaved; a wrong one before any check ran, or a pass that must fail, is our own fault."""
    for number, (name, must_pass) in enumerate(seen.canaries.items()):
        passed = seen.results[name]["error"] is None
        if passed == must_pass:
            continue
        said = seen.results[name]["evidence"]
        if number >= 2 and must_pass:
            return one_line(f"after the checks the worker no longer answers as it must: {said}")
        raise ChecksBroken(f"a canary that must {'pass' if must_pass else 'fail'} did not: {said}")
    return None


def _verdict(one: str, results: list[dict[str, Any]]) -> CheckResult:
    failed = [result for result in results if result["error"]]
    if not failed:
        plural = "" if len(results) == 1 else "s"
        return CheckResult(one, True, f"{len(results)} check{plural} passed")
    worst = failed[0]
    evidence = one_line(f"{worst['name']}: {worst['evidence']}")
    return CheckResult(one, False, evidence, tuple(worst["observed"]), worst["error"])


@functools.cache
def _cache() -> str:
    """A private directory where the checks stay compiled for the life of this process."""
    folder = tempfile.TemporaryDirectory(prefix="takeover-checks-")
    atexit.register(folder.cleanup)
    return folder.name
