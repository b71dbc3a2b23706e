"""Run trials side by side on this machine."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Protocol, TypeVar

from ..sandbox.errors import MachineryError

Spec = TypeVar("Spec")
Result = TypeVar("Result")


class Executor(Protocol):
    """Yields results as they come; order is not promised, completeness is."""

    def run(self, specs: Iterable[Spec], work: Callable[[Spec], Result]) -> Generator[Result, None, None]: ...


class LocalExecutor:
    """Threads: a trial waits for its containers most of the time.

    `abort` is called when the caller stops listening (an interrupt): once while works go on, so that
    sessions under way lose their containers instead of running to their end, and once when none goes on.
    """

    def __init__(self, parallel: int, abort: Callable[[], object]) -> None:
        self._parallel = parallel
        self._abort = abort

    def run(self, specs: Iterable[Spec], work: Callable[[Spec], Result]) -> Generator[Result, None, None]:
        pool = ThreadPoolExecutor(max_workers=self._parallel, thread_name_prefix="trial")
        pending: set[Future[Result]] = {pool.submit(work, spec) for spec in specs}
        try:
            while pending:
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            self._give_up()
            # One that was cancelled before it began is never notified: to wait for it is to wait for ever.
            wait({future for future in pending if not future.cancelled()})
            self._give_up()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _give_up(self) -> None:
        # An engine that is gone must not hide why the work ended; its containers end with their wires.
        with contextlib.suppress(MachineryError):
            self._abort()
