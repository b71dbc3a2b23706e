"""The guest's answers, from hostile JSON to data: every field is checked, anything amiss is a broken wire."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, Literal, cast, get_args

from .errors import WireBroken
from .sandbox import CutoffReport, Export, GuestInfo, How, RunResult
from .snapshot import Omission

VERSION: Final = 1
_COUNT_LIMIT: Final = 1 << 62


class Fields:
    """Typed access to one header."""

    def __init__(self, header: Mapping[str, Any]) -> None:
        self._header = header

    def _bad(self, name: str) -> WireBroken:
        return WireBroken(f"the sandbox's {str(self._header.get('t'))[:40]!r} answer has no valid {name!r}")

    def count(self, name: str, default: int | None = None) -> int:
        value = self._header.get(name, default)
        if type(value) is not int or not 0 <= value < _COUNT_LIMIT:
            raise self._bad(name)
        return value

    def optional_count(self, name: str) -> int | None:
        return None if self._header.get(name) is None else self.count(name)

    def seconds(self, name: str) -> float:
        value = self._header.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf:
            return float(value)
        raise self._bad(name)

    def flag(self, name: str, default: bool | None = None) -> bool:
        value = self._header.get(name, default)
        if type(value) is not bool:
            raise self._bad(name)
        return value

    def text(self, name: str) -> str:
        value = self._header.get(name)
        if type(value) is not str:
            raise self._bad(name)
        return value

    def optional_text(self, name: str) -> str | None:
        return None if self._header.get(name) is None else self.text(name)

    def texts(self, name: str) -> tuple[str, ...]:
        value = self._header.get(name, [])
        if type(value) is not list or any(type(entry) is not str for entry in value):
            raise self._bad(name)
        return tuple(value)


def parse_ready(header: Mapping[str, Any]) -> GuestInfo:
    """The `ready` frame."""
    fields = Fields(header)
    if fields.count("v") != VERSION:
        raise WireBroken(f"the guest speaks version {fields.count('v')} of the wire, not {VERSION}")
    return GuestInfo(
        python=fields.text("python"),
        uid=fields.count("uid"),
        gid=fields.count("gid"),
        user_home=fields.text("user_home"),
        arch=fields.text("arch"),
        kernel=fields.text("kernel"),
        capabilities=str(header.get("pid1_caps", "")),
        barrier=fields.flag("barrier"),
        barrier_reason=fields.optional_text("barrier_reason"),
        dns=fields.flag("dns"),
        home_bytes=fields.count("home_bytes", 0),
        home_complete=fields.flag("home_complete", True),
    )


def parse_exit(header: Mapping[str, Any], streams: Mapping[int, bytes], started: Mapping[str, Any]) -> RunResult:
    """The `exit` frame, with what was kept of the output and the `started` frame that belongs to it."""
    fields = Fields(header)
    how = fields.text("how")
    if how not in get_args(How):
        raise WireBroken(f"the sandbox says that a command ended {how[:40]!r}")
    mode = started.get("mode")
    if mode not in ("exact", "approximate", None):
        raise WireBroken("the sandbox names no mode of cutoff that is known")
    return RunResult(
        how=cast(How, how),
        code=fields.optional_count("code"),
        signal=fields.optional_count("signal"),
        stdout=streams.get(1, b""),
        stderr=streams.get(2, b""),
        truncated=fields.flag("truncated"),
        output_bytes=_output_bytes(header.get("output_bytes")),
        seconds=fields.seconds("seconds"),
        killed=fields.count("killed"),
        oom=fields.flag("oom"),
        oom_kills=fields.count("oom_kills"),
        barrier=Fields(started).flag("barrier"),
        mode=cast('Literal["exact", "approximate"] | None', mode),
        cutoff=_cutoff(header.get("cutoff")),
        edits=fields.count("edits", 0),
        edited=fields.texts("edited"),
        first_edit=fields.optional_text("first_edit"),
        armed=None if header.get("armed") is None else fields.flag("armed"),
    )


def parse_exported(header: Mapping[str, Any]) -> Export:
    """The `exported` frame."""
    fields = Fields(header)
    omitted = header.get("omitted")
    if type(omitted) is not list:
        raise WireBroken("the sandbox's export does not say what it left out")
    found = []
    for entry in omitted:
        if type(entry) is not list or len(entry) != 2 or any(type(part) is not str for part in entry):
            raise WireBroken("the sandbox's export names something left out in a wrong shape")
        found.append(Omission(entry[0], entry[1]))
    if more := fields.count("omitted_more", 0):
        found.append(Omission("", f"and {more} more"))
    return Export(complete=fields.flag("complete"), omitted=tuple(found))


def _output_bytes(value: object) -> dict[int, int]:
    if not isinstance(value, dict):
        raise WireBroken("the sandbox does not say how much was printed")
    fields = Fields({"t": "exit", **value})
    return {stream: fields.count(str(stream), 0) for stream in (1, 2)}


def _cutoff(value: object) -> CutoffReport | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise WireBroken("the sandbox's report of the cutoff is no object")
    fields = Fields({"t": "cutoff", **value})
    return CutoffReport(
        rule=fields.text("rule"),
        n=fields.optional_count("n"),
        path=fields.optional_text("path"),
        how=fields.optional_text("how"),
        exact=fields.flag("exact"),
        why_not=fields.optional_text("why_not"),
        late=fields.texts("late"),
        open=fields.texts("open"),
    )
