"""Open the next sandbox while the present one works, and let the last one go in the background.

A container takes longer to start and to remove than most of what a scripted session does in it. They are started one
after the other: two at once would both take as long as both, and the first is waited for.
A sandbox that was opened ahead holds nothing: what a session gets is loaded when the session begins.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Self

from ..sandbox.engine import NO_LABELS, Opener
from ..sandbox.errors import MachineryError
from ..sandbox.limits import Limits
from ..sandbox.sandbox import Sandbox

_Opened = tuple[Sandbox, contextlib.ExitStack]
_Wanted = tuple[str, Limits, tuple[tuple[str, str], ...]]


class Ahead:
    """An opener of sandboxes for one trial; leaving the context waits until every container is gone.

    A sandbox that could not be closed takes nothing from what was found out in it: `troubles` says so, and whoever
    sweeps removes it.
    """

    def __init__(self, engine: Opener) -> None:
        self._engine = engine
        self._opening = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ahead")
        self._leaving = ThreadPoolExecutor(max_workers=3, thread_name_prefix="behind")
        self._expected: list[tuple[_Wanted, Future[_Opened]]] = []
        self._closing: list[Future[None]] = []
        self.troubles: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for _, future in self._expected:
            self._closing.append(self._leaving.submit(_discard, future))
        self._opening.shutdown(wait=True)
        self._leaving.shutdown(wait=True)
        for closing in self._closing:
            trouble = closing.exception()
            if isinstance(trouble, MachineryError):
                self.troubles.append(str(trouble))
            elif trouble is not None and error is None:
                raise trouble

    def expect(self, image: str, *, limits: Limits, labels: Mapping[str, str] = NO_LABELS) -> None:
        """Begin to open a sandbox that a later `open` with the same arguments gets."""
        opening = self._opening.submit(self._enter, image, limits, labels)
        self._expected.append((_wanted(image, limits, labels), opening))

    @contextlib.contextmanager
    def open(self, image: str, *, limits: Limits, labels: Mapping[str, str] = NO_LABELS) -> Iterator[Sandbox]:
        """See Engine.open; it is closed in the background."""
        wanted = _wanted(image, limits, labels)
        found = next((one for one in self._expected if one[0] == wanted), None)
        if found is None:
            sandbox, stack = self._enter(image, limits, labels)
        else:
            self._expected.remove(found)
            sandbox, stack = found[1].result()
        with stack:
            yield sandbox
            self._closing.append(self._leaving.submit(stack.pop_all().close))

    def _enter(self, image: str, limits: Limits, labels: Mapping[str, str]) -> _Opened:
        with contextlib.ExitStack() as stack:
            sandbox = stack.enter_context(self._engine.open(image, limits=limits, labels=labels))
            return sandbox, stack.pop_all()


def _wanted(image: str, limits: Limits, labels: Mapping[str, str]) -> _Wanted:
    return image, limits, tuple(sorted(labels.items()))


def _discard(future: Future[_Opened]) -> None:
    if future.exception() is None:
        future.result()[1].close()
