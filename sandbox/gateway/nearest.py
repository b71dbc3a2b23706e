"""For a request that a cassette does not know: the recorded one that is most like it, and where the two differ first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from ..transcript.text import one_line
from .cassette import Asked
from .jsontext import canonical

_SHOWN: Final = 60
_MOST: Final = 2000


@dataclass(frozen=True, slots=True)
class Nearest:
    """`number` counts the session's requests from 1."""

    number: int
    difference: str


def nearest(asked: Asked, others: Iterable[Asked]) -> Nearest | None:
    """The request that agrees with this one the furthest, in the order in which requests are built."""
    best: tuple[int, int, Asked] | None = None
    mine = _ordered(asked)
    for number, other in enumerate(others, start=1):
        if number > _MOST:
            break
        alike = _agreement(mine, _ordered(other))
        if best is None or alike > best[0]:
            best = alike, number, other
    if best is None:
        return None
    return Nearest(best[1], difference(_plain(best[2]), _plain(asked)))


def difference(recorded: Any, asked: Any) -> str:
    """Where two JSON values differ first, and how."""
    path = "$"
    while True:
        if isinstance(recorded, dict) and isinstance(asked, dict):
            key = next((key for key in {**recorded, **asked} if _at(recorded, key) != _at(asked, key)), None)
            if key is None:
                return "they are the same"
            path += f".{key}"
            if key not in recorded or key not in asked:
                return f"{_path(path)} is only in the {'request' if key in asked else 'recording'}"
            recorded, asked = recorded[key], asked[key]
        elif isinstance(recorded, list) and isinstance(asked, list):
            index = next((i for i, (a, b) in enumerate(zip(recorded, asked, strict=False)) if a != b), None)
            if index is None:
                return f"{_path(path)} has {len(recorded)} parts in the recording and {len(asked)} in the request"
            path += f"[{index}]"
            recorded, asked = recorded[index], asked[index]
        else:
            return f"{_path(path)} was {_shown(recorded, asked)} and is {_shown(asked, recorded)}"


_MISSING: Final = object()


def _at(value: dict[str, Any], key: str) -> Any:
    return value.get(key, _MISSING)


def _path(path: str) -> str:
    return one_line(path, 200)


def _shown(value: Any, other: Any) -> str:
    """A value in short: of a long text the place where it departs from the other one."""
    if isinstance(value, str) and isinstance(other, str):
        start = max(0, _agreement(value, other) - _SHOWN // 3)
        text = ("…" if start else "") + value[start : start + _SHOWN]
        return repr(one_line(text, _SHOWN + 1))
    return one_line(canonical(value), _SHOWN)


def _ordered(asked: Asked) -> str:
    """The request as text, what tells requests apart (the messages) last."""
    document = dict(asked.document)
    messages = [document.pop(name) for name in ("messages", "input", "contents") if name in document]
    return canonical([asked.api, asked.operation, asked.target, asked.form, document, messages])


def _plain(asked: Asked) -> dict[str, Any]:
    return {"api": asked.api, "path": asked.target, "form": asked.form, **asked.document}


def _agreement(one: str, other: str) -> int:
    """How many characters two texts have in common at their beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
