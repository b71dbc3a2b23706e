"""The guest's answers: every field is checked before it is believed."""

from __future__ import annotations

from typing import Any

import pytest

from takeover.sandbox import answers
from takeover.sandbox.errors import WireBroken
from takeover.sandbox.sandbox import CutoffReport, Export
from takeover.sandbox.snapshot import Omission

READY: dict[str, Any] = {
    "t": "ready",
    "v": 1,
    "python": "3.11.2",
    "uid": 1000,
    "gid": 1000,
    "user_home": "/home/agent",
    "arch": "x86_64",
    "kernel": "6.1",
    "pid1_caps": "00000000000000eb",
    "barrier": True,
    "barrier_reason": None,
    "dns": True,
    "clock": 1.5,
}
EXIT: dict[str, Any] = {
    "t": "exit",
    "id": 3,
    "how": "cutoff",
    "code": None,
    "signal": None,
    "oom": False,
    "oom_kills": 0,
    "truncated": True,
    "output_bytes": {"1": 12, "2": 0},
    "seconds": 1.5,
    "killed": 2,
    "edits": 1,
    "edited": ["a.py"],
    "first_edit": "a.py",
    "cutoff": {
        "rule": "first-edit",
        "n": None,
        "path": "a.py",
        "how": "write",
        "exact": True,
        "why_not": None,
        "late": [],
        "open": [],
    },
}
STARTED = {"t": "started", "id": 3, "pid": 7, "barrier": True, "mode": "exact"}


def test_a_whole_exit_becomes_a_result() -> None:
    """Each field of the frame is in the result, with the output that was kept."""
    result = answers.parse_exit(EXIT, {1: b"out", 2: b""}, STARTED)

    assert result.how == "cutoff"
    assert (result.code, result.signal) == (None, None)
    assert result.stdout == b"out"
    assert result.truncated
    assert result.output_bytes == {1: 12, 2: 0}
    assert result.edited == ("a.py",)
    assert result.cutoff == CutoffReport("first-edit", None, "a.py", "write", exact=True)
    assert (result.barrier, result.mode) == (True, "exact")
    assert result.armed is None
    assert answers.parse_exit({**EXIT, "armed": False}, {}, STARTED).armed is False
    assert not result.ok


@pytest.mark.parametrize("field", sorted(set(READY) - {"t", "pid1_caps", "clock", "barrier_reason"}))
@pytest.mark.parametrize("value", ["missing", [], {}, -1, 1.5])
def test_ready_with_a_bad_field_breaks_the_wire(field: str, value: object) -> None:
    """A field that is missing or of the wrong type is no answer."""
    header = {**READY, field: value}
    if value == "missing":
        del header[field]
    with pytest.raises(WireBroken):
        answers.parse_ready(header)


def test_another_version_of_the_wire_is_refused() -> None:
    """A guest of another version is not talked to."""
    with pytest.raises(WireBroken, match="version 2"):
        answers.parse_ready({**READY, "v": 2})


BAD_EXITS: dict[str, dict[str, Any]] = {
    "how unknown": {"how": "won"},
    "how a list": {"how": ["exited"]},
    "code a flag": {"code": True},
    "code a text": {"code": "0"},
    "negative signal": {"signal": -9},
    "infinite time": {"seconds": float("inf")},
    "time a text": {"seconds": "1"},
    "no count of output": {"output_bytes": None},
    "output a text": {"output_bytes": {"1": "12"}},
    "edited no list": {"edited": "a.py"},
    "edited numbers": {"edited": [1]},
    "cutoff a text": {"cutoff": "first-edit"},
    "cutoff without a rule": {"cutoff": {"exact": True}},
    "oom a number": {"oom": 1},
    "huge": {"oom_kills": 1 << 70},
}


@pytest.mark.parametrize("case", BAD_EXITS)
def test_an_exit_with_a_bad_field_breaks_the_wire(case: str) -> None:
    """No forged or broken exit becomes a result."""
    with pytest.raises(WireBroken):
        answers.parse_exit({**EXIT, **BAD_EXITS[case]}, {}, STARTED)


def test_exports_say_what_they_left_out() -> None:
    """Omissions are taken over, with a last line for those beyond the list."""
    header = {"t": "exported", "id": 1, "omitted": [["s", "socket"]], "omitted_more": 4, "complete": False}

    assert answers.parse_exported(header) == Export(False, (Omission("s", "socket"), Omission("", "and 4 more")))
    for bad in ({"omitted": None}, {"omitted": [["a"]]}, {"omitted": [[1, 2]]}, {"complete": None}):
        with pytest.raises(WireBroken):
            answers.parse_exported({**header, **bad})
