"""How the untrusted half of the checks is started, and restarted when the code in it brought it down."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack
from importlib import resources
from types import TracebackType
from typing import Self

from .answers import Channel, SubjectGone

# No image's and no user's environment: the worker sees this and nothing else. The fixed hash seed makes code that
# leans on set order answer the same way each time; it is why the worker does not run under -I, which would ignore it.
ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/nonexistent",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "PYTHONHASHSEED": "0",
}

# Slow to load, and of use in the worker only where the code under test imports it.
LOADABLE = ("dataclasses", "pathlib")

_HEAD = """\
from __future__ import annotations
import sys
sys.path[:] = [entry for entry in sys.path if entry]
"""


@functools.cache
def source() -> str:
    """The worker as one text. Its first act is to take the working directory off the path, where a json.py may wait."""
    folder = resources.files("takeover.sandbox.guest")
    texts = [(folder / name).read_text("utf-8") for name in ("worker_values.py", "worker.py")]
    lines = [line for text in texts for line in text.splitlines(keepends=True)]
    kept = (line for line in lines if not line.startswith(("from __future__ ", "from .worker_values ")))
    return _HEAD + "".join(kept)


def worth_loading(sources: Iterable[bytes]) -> tuple[str, ...]:
    """What of `LOADABLE` these sources name; a worker without it is slower by that much, and otherwise the same."""
    wanted = {name for text in sources for name in LOADABLE if name.encode() in text}
    return tuple(name for name in LOADABLE if name in wanted)


def command(
    *roots: str, python: str = "python3", alone: bool = True, load: tuple[str, ...] = LOADABLE
) -> tuple[str, ...]:
    """The argument vector of a worker that imports from `roots`, with these modules loaded beforehand.

    `alone` says that no other process of this user matters, so that everything can be killed after each request:
    true in a sandbox, never on a user's machine. Run it with `ENVIRONMENT` and nothing else.
    """
    options = [*(["--alone"] if alone else []), *([f"--load={','.join(load)}"] if load else [])]
    return (python, "-s", "-S", "-B", "-c", source(), *options, *roots)


class RestartingChannel:
    """A channel over workers that may be brought down: each loss costs the question at hand and no other.

    A question whose worker died is asked once more of a fresh one, since an earlier question's code may be to blame.
    """

    def __init__(self, start: Callable[[], AbstractContextManager[Channel]], *, restarts: int = 200) -> None:
        self._start = start
        self._left = restarts
        self._stack = ExitStack()
        self._channel: Channel | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def ask(self, request: bytes, timeout: float) -> bytes:
        """The answering line; `SubjectGone` when two workers failed at it, or one fell silent."""
        try:
            return self._ask(request, timeout)
        except SubjectGone as gone:
            if gone.how == "timeout":
                raise
            return self._ask(request, timeout)

    def _ask(self, request: bytes, timeout: float) -> bytes:
        if self._channel is None:
            if self._left == 0:
                raise SubjectGone("spent", "too many workers were brought down before")
            self._left -= 1
            self._channel = self._stack.enter_context(self._start())
        try:
            line = self._channel.ask(request, timeout)
            if json.loads(request)["nonce"].encode() not in line:
                raise SubjectGone("garbled", "a line came that answers no question")
            return line
        except SubjectGone:
            self._channel = None
            self._stack.close()
            raise
