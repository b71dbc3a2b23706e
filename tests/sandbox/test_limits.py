"""Limits as tasks write them."""

from __future__ import annotations

from dataclasses import fields

import pytest

from takeover.sandbox.errors import InputError
from takeover.sandbox.limits import GIB, MIB, Limits, parse_limits, parse_seconds, parse_size


@pytest.mark.parametrize(
    ("text", "size"),
    [(1024, 1024), ("1024", 1024), ("512M", 512 * MIB), ("1.5 GiB", 1536 * MIB), ("2g", 2 * GIB), ("64 KB", 65536)],
)
def test_sizes(text: object, size: int) -> None:
    """Bytes, or a number with a unit of 1024."""
    assert parse_size(text) == size


@pytest.mark.parametrize(("text", "seconds"), [(90, 90.0), (0.5, 0.5), ("90s", 90.0), ("15m", 900.0), ("2h", 7200.0)])
def test_times(text: object, seconds: float) -> None:
    """Seconds, or a number with s, m or h."""
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize("value", [0, -1, True, None, "", "M", "1T", "1e3", [], float("nan"), float("inf")])
def test_nonsense_is_refused(value: object) -> None:
    """What is no positive amount is an InputError, for sizes and for times."""
    with pytest.raises(InputError):
        parse_size(value)
    if value != "1T":
        with pytest.raises(InputError):
            parse_seconds(value)


def test_every_field_can_be_set_and_no_other() -> None:
    """Each limit has a parser; an unknown name and a bad value are named in the error."""
    for field in fields(Limits):
        assert getattr(parse_limits({field.name: 7}), field.name) == 7
    with pytest.raises(InputError, match="memroy"):
        parse_limits({"memroy": "1G"})
    with pytest.raises(InputError, match="pids"):
        parse_limits({"pids": "many"})


def test_what_is_not_said_comes_from_the_base() -> None:
    """Only the named fields change."""
    assert parse_limits({"wall": "1m"}, Limits(pids=9)) == Limits(pids=9, wall=60.0)
