"""What a sandbox may use, and how a task says so."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from .errors import InputError

MIB: Final = 1 << 20
GIB: Final = 1 << 30

_UNITS: Final = {"": 1, "B": 1, "K": 1 << 10, "M": MIB, "G": GIB}
_SIZE: Final = re.compile(r"(\d{1,12}(?:\.\d{1,3})?)\s*([BKMG]?)(?:i?B)?", re.IGNORECASE)
_TIME: Final = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)\s*(s|m|h)?")
_SECONDS: Final = {None: 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class Limits:
    """Caps on one sandbox. Sizes in bytes, times in seconds.

    What lies in the tmpfs mounts counts towards `memory`; there is never any swap.
    `fsize`, `nofile` and `pids` bind the agent; `output` is kept per stream, the rest is counted and dropped.
    """

    memory: int = 2 * GIB
    pids: int = 512
    cpus: float = 2.0
    nofile: int = 4096
    fsize: int = 512 * MIB
    workspace: int = GIB
    home: int = 512 * MIB
    tmp: int = 512 * MIB
    shm: int = 64 * MIB
    inodes: int = 200_000
    wall: float = 900.0
    output: int = 4 * MIB

    @property
    def rlimits(self) -> dict[str, int]:
        """The limits that the guest sets on the agent's own processes."""
        return {"nofile": self.nofile, "fsize": self.fsize, "core": 0}


def parse_size(text: object) -> int:
    """Bytes from `1048576`, `512M` or `1.5 GiB` (powers of 1024)."""
    if isinstance(text, int) and not isinstance(text, bool) and text > 0:
        return text
    match = _SIZE.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None or not (size := int(float(match[1]) * _UNITS[match[2].upper()])):
        raise InputError(f"{text!r} is not a size", hint="Write bytes, or a number with K, M or G: 512M.")
    return size


def parse_seconds(text: object) -> float:
    """Seconds from `90`, `90s`, `15m` or `2h`."""
    if isinstance(text, int | float) and not isinstance(text, bool) and 0 < text < 1e9:
        return float(text)
    match = _TIME.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None or not (seconds := float(match[1]) * _SECONDS[match[2]]):
        raise InputError(f"{text!r} is not a time", hint="Write seconds, or a number with s, m or h: 15m.")
    return seconds


def parse_limits(values: Mapping[str, object], base: Limits | None = None) -> Limits:
    """Limits of a task.yaml mapping over `base`; InputError names the field."""
    unknown = sorted(set(values) - set(_PARSERS))
    if unknown:
        raise InputError(f"limits: unknown field {unknown[0]!r}", hint=f"Known: {', '.join(sorted(_PARSERS))}.")
    parsed: dict[str, int | float] = {}
    for name, value in values.items():
        try:
            parsed[name] = _PARSERS[name](value)
        except InputError as error:
            raise InputError(f"limits: {name}: {error}", hint=error.hint) from None
    return replace(base or Limits(), **parsed)  # type: ignore[arg-type]  # one parser per field, tested


def _count(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 40:
        return value
    raise InputError(f"{value!r} is not a positive whole number")


def _cpus(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0.01 <= value <= 1024:
        return float(value)
    raise InputError(f"{value!r} is not a number of CPUs")


_PARSERS: Final[Mapping[str, Callable[[object], int | float]]] = {
    "memory": parse_size,
    "pids": _count,
    "cpus": _cpus,
    "nofile": _count,
    "fsize": parse_size,
    "workspace": parse_size,
    "home": parse_size,
    "tmp": parse_size,
    "shm": parse_size,
    "inodes": _count,
    "wall": parse_seconds,
    "output": parse_size,
}
