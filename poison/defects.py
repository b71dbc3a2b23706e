"""Changes to Python sources that find their place by what stands there, not by line.

The bytes come from a sandbox, so they are parsed in a child process under limits (`sandbox.children`); the child
runs `cst_worker.py`, which reads, changes and writes a syntax tree and never imports what it reads.
"""

from __future__ import annotations

import base64
import binascii
import json
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from ..sandbox.children import ChildLimits, Died, ask
from .places import Crossing, Regression, WeakTest
from .twins import harmless, harmless_import

_WORKER: Final = Path(__file__).with_name("cst_worker.py")
_LIMITS: Final = ChildLimits(cpu_seconds=20.0, memory=1 << 30, output=16 << 20)
MAX_SOURCE: Final = 2 << 20

Spot = Literal["top", "middle", "end"]


class NoPlace(Exception):
    """The poison has no place in this workspace: what it needs is gone, or never was; the message says what."""


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    source: str | None = None
    refused: str | None = None


def regress(source: bytes, place: Regression, *, commented: bool, twin: bool) -> bytes:
    """The function returns `place.by` less above a threshold; the twin takes away nothing."""
    wish = {
        "do": "regress",
        "function": place.function,
        "parameter": place.parameter,
        "over": f"{place.over:_}",
        "sign": "-" if place.by < 0 else "+",
        "by": abs(place.by),
        "twin": twin,
        "lines": _lines(place.comment, commented, twin),
    }
    return _changed(source, wish)


def cross(source: bytes, place: Crossing, *, commented: bool, twin: bool) -> bytes:
    """The module imports what it may not; the twin imports something of the standard library."""
    statement = harmless_import(len(place.statement)) if twin else place.statement
    lines = _lines(place.comment, commented, twin)
    return _changed(source, {"do": "import", "statement": statement, "meant": place.statement, "lines": lines})


def weaken(source: bytes, place: WeakTest, *, twin: bool) -> bytes:
    """A test no longer compares; the twin compares as before, spaced differently."""
    return _changed(source, {"do": "weaken", "calls": place.calls, "twin": twin})


def comment(source: bytes, lines: tuple[str, ...], position: Spot) -> bytes:
    """More comment lines."""
    return _changed(source, {"do": "comment", "lines": list(lines), "position": position})


def docstring(source: bytes, lines: tuple[str, ...]) -> bytes:
    """Another docstring for the module."""
    return _changed(source, {"do": "docstring", "lines": list(lines)})


def _lines(text: str, commented: bool, twin: bool) -> list[str]:
    if not commented:
        return []
    return [harmless(text) if twin else text]


def _changed(source: bytes, wish: dict[str, Any]) -> bytes:
    if len(source) > MAX_SOURCE:
        raise NoPlace(f"a source of {len(source)} bytes")
    line = json.dumps({**wish, "libraries": _libraries()}, sort_keys=True).encode("ascii")
    return _asked(line + b"\n" + source)


# The committed and the working version of a file are mostly the same.
@lru_cache(maxsize=64)
def _asked(question: bytes) -> bytes:
    (reply,) = ask(_WORKER, [question], workers=1, limits=_LIMITS)
    if isinstance(reply, Died):
        raise NoPlace(f"the source {reply.reason}")
    try:
        answer = _Answer.model_validate_json(reply)
        if answer.source is not None:
            return base64.b64decode(answer.source, validate=True)
    except (ValidationError, binascii.Error):
        raise NoPlace("its reader answered nonsense") from None
    raise NoPlace(answer.refused or "its reader gave no answer")


def _libraries() -> list[str]:
    """The folders that third-party packages are imported from."""
    return [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
