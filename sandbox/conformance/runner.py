"""Runs the list."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from ..engine import DockerEngine
from ..errors import InputError, TakeoverError
from . import files, isolation, life, limits, processes
from .kit import Bench, Check, CheckResult, NotHeld

CHECKS: Final[tuple[Check, ...]] = (
    *life.CHECKS,
    *files.CHECKS,
    *processes.CHECKS,
    *isolation.CHECKS,
    *limits.CHECKS,
)


def select(names: Sequence[str] | None = None) -> tuple[Check, ...]:
    """Checks by name, or by the part of it before the dot; InputError for a name that is none."""
    if not names:
        return CHECKS
    unknown = [name for name in names if not any(_matches(check, name) for check in CHECKS)]
    if unknown:
        raise InputError(f"no conformance check is called {unknown[0]!r}", hint="See `takeover doctor --list`.")
    return tuple(check for check in CHECKS if any(_matches(check, name) for name in names))


def run_checks(engine: DockerEngine, image: str, names: Sequence[str] | None = None) -> Iterator[CheckResult]:
    """The outcomes, one by one as they are known."""
    chosen = select(names)
    with bench_of(engine, image) as bench:
        for check in chosen:
            yield run_check(bench, check)


@contextlib.contextmanager
def bench_of(engine: DockerEngine, image: str) -> Iterator[Bench]:
    """A bench whose sandboxes and files are gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="takeover-doctor-") as folder:
        bench = Bench(engine, image, Path(folder))
        try:
            yield bench
        finally:
            bench.drop()


def run_check(bench: Bench, check: Check) -> CheckResult:
    """One outcome; failing machinery is evidence against the engine like any other."""
    began = time.monotonic()
    try:
        passed, evidence = True, check.probe(bench)
    except NotHeld as against:
        passed, evidence = False, str(against)
    except TakeoverError as error:
        passed, evidence = False, f"{type(error).__name__}: {error}"
    if not passed:
        with contextlib.suppress(TakeoverError):
            bench.drop()
    return CheckResult(check.name, check.claim, passed, evidence, time.monotonic() - began)


def _matches(check: Check, name: str) -> bool:
    return name in (check.name, check.name.partition(".")[0])
