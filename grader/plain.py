"""Plain data on the trusted side: the typed JSON of the subject worker, read strictly, and exact comparison.

The worker (sandbox/guest/worker.py) writes the same form. `decode` believes nothing: an unknown tag, a wrong
arity, an odd character or too much depth is a `Malformed`, never an exception of some library.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import decimal
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

MAX_DEPTH = 40
MAX_NODES = 200_000

# One for every tag, so that a hostile int or Decimal costs no more than its text.
_MAX_TEXT = 1 << 20
_MAX_NUMBER = 1 << 16


class Malformed(ValueError):
    """The bytes are not typed plain data."""


@dataclass(frozen=True, slots=True)
class Ref:
    """Something of the agent's code by its name, `Ref("ledger.kinds:Kind.DEBIT")`: an argument that is looked up in
    the sandbox, or a member of an enum that came back."""

    target: str


@dataclass(frozen=True, slots=True)
class StepRef:
    """An argument that is the result of an earlier step of the same script."""

    index: int


def encode(value: object) -> object:
    """The typed JSON of a plain value, `Ref` or `StepRef`; a TypeError names what is not plain."""
    if value is None or type(value) is bool or type(value) is str:
        return value
    kind = type(value)
    if kind in _ENCODERS:
        return _ENCODERS[kind](value)
    raise TypeError(f"a check can send plain data only, not {kind.__name__}")


def _encode_dict(value: Any) -> object:
    return ["dict", [[encode(k), encode(v)] for k, v in value.items()]]


def _encode_zone(zone: datetime.tzinfo | None) -> object:
    if zone is None:
        return None
    if type(zone) is not datetime.timezone:
        raise TypeError("a check can send datetimes with a fixed offset only")
    offset = zone.utcoffset(None)
    return [offset.days, offset.seconds, offset.microseconds]


def _encode_datetime(value: Any) -> object:
    return ["datetime", value.replace(tzinfo=None, fold=0).isoformat(), value.fold, _encode_zone(value.tzinfo)]


def _encode_time(value: Any) -> object:
    return ["time", value.replace(tzinfo=None, fold=0).isoformat(), value.fold, _encode_zone(value.tzinfo)]


_ENCODERS: dict[type, Callable[[Any], object]] = {
    int: lambda v: ["int", hex(v)],
    float: lambda v: ["float", v.hex()],
    bytes: lambda v: ["bytes", base64.b64encode(v).decode("ascii")],
    list: lambda v: ["list", [encode(x) for x in v]],
    tuple: lambda v: ["tuple", [encode(x) for x in v]],
    set: lambda v: ["set", [encode(x) for x in v]],
    frozenset: lambda v: ["frozenset", [encode(x) for x in v]],
    dict: _encode_dict,
    decimal.Decimal: lambda v: ["decimal", str(v)],
    datetime.date: lambda v: ["date", v.isoformat()],
    datetime.datetime: _encode_datetime,
    datetime.time: _encode_time,
    datetime.timedelta: lambda v: ["timedelta", v.days, v.seconds, v.microseconds],
    Ref: lambda v: ["target", v.target],
    StepRef: lambda v: ["step", v.index],
}


def decode(raw: object) -> object:
    """The plain value behind typed JSON that came from a sandbox."""
    return _Decoder().value(raw, 0)


class _Decoder:
    """One pass over one answer, counting what it costs."""

    def __init__(self) -> None:
        self._nodes = 0

    def value(self, raw: object, depth: int) -> object:
        self._nodes += 1
        if depth > MAX_DEPTH or self._nodes > MAX_NODES:
            raise Malformed("nested or long beyond the limits")
        if raw is None or isinstance(raw, bool):
            return raw
        if isinstance(raw, str):
            return raw
        if not isinstance(raw, list) or not raw or not isinstance(raw[0], str):
            raise Malformed("not a typed value")
        try:
            return self._tagged(raw[0], raw[1:], depth)
        except (ValueError, OverflowError, ArithmeticError, TypeError, binascii.Error) as error:
            raise Malformed(f"a bad {raw[0][:20]!r}") from error

    def _tagged(self, tag: str, rest: list[object], depth: int) -> object:
        if tag in _SCALARS:
            (text,) = rest
            if not isinstance(text, str) or len(text) > (_MAX_TEXT if tag == "bytes" else _MAX_NUMBER):
                raise Malformed(f"a bad {tag}")
            return _SCALARS[tag](text)
        if tag in _SEQUENCES:
            (items,) = rest
            if not isinstance(items, list):
                raise Malformed(f"a bad {tag}")
            decoded = [self.value(item, depth + 1) for item in items]
            return _SEQUENCES[tag](decoded)
        if tag == "dict":
            return self._dict(rest, depth)
        if tag == "timedelta":
            return datetime.timedelta(*_integers(rest, 3))
        if tag in ("datetime", "time"):
            return _moment(tag, rest)
        if tag == "target":
            (target,) = rest
            return Ref(_name(target))
        raise Malformed("an unknown type")

    def _dict(self, rest: list[object], depth: int) -> object:
        (pairs,) = rest
        if not isinstance(pairs, list):
            raise Malformed("a bad dict")
        found: dict[Any, object] = {}
        for pair in pairs:
            if not isinstance(pair, list) or len(pair) != 2:
                raise Malformed("a bad dict")
            found[self.value(pair[0], depth + 1)] = self.value(pair[1], depth + 1)
        if len(found) != len(pairs):
            raise Malformed("a dict with equal keys")
        return found


def _name(raw: object) -> str:
    if not isinstance(raw, str) or len(raw) > 4000:
        raise Malformed("a bad name")
    return raw


def _integer(text: str) -> int:
    if not text.isascii() or "_" in text or text.strip() != text:
        raise Malformed("a bad int")
    return int(text, 16)


def _float(text: str) -> float:
    return float.fromhex(text)


def _moment(tag: str, rest: list[object]) -> object:
    text, fold, zone = rest
    if not isinstance(text, str) or fold not in (0, 1) or isinstance(fold, bool):
        raise Malformed(f"a bad {tag}")
    tzinfo = None
    if zone is not None:
        if not isinstance(zone, list):
            raise Malformed(f"a bad {tag}")
        tzinfo = datetime.timezone(datetime.timedelta(*_integers(zone, 3)))
    parsed: datetime.datetime | datetime.time
    parsed = datetime.datetime.fromisoformat(text) if tag == "datetime" else datetime.time.fromisoformat(text)
    return parsed.replace(fold=int(fold), tzinfo=tzinfo)


def _integers(raw: list[object], count: int) -> list[int]:
    numbers = [x for x in raw if isinstance(x, int) and not isinstance(x, bool)]
    if len(numbers) != count or len(raw) != count:
        raise Malformed("bad numbers")
    return numbers


_SCALARS: dict[str, Callable[[str], object]] = {
    "int": _integer,
    "float": _float,
    "bytes": lambda text: base64.b64decode(text, validate=True),
    "decimal": decimal.Decimal,
    "date": datetime.date.fromisoformat,
}
_SEQUENCES: dict[str, Callable[[list[Any]], object]] = {
    "list": list,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
}


def same(left: object, right: object) -> bool:
    """Whether two plain values are equal in every type too: True is not 1, 1 is not 1.0, [1] is not (1,).

    NaN equals NaN here: a check that expects NaN means it.
    """
    return _frozen(left) == _frozen(right)


def _frozen(value: object) -> object:
    """A hashable stand-in in which the type of each part takes part in equality."""
    kind = type(value)
    if kind is float:
        return (float, "nan") if math.isnan(value) else (float, value)  # type: ignore[arg-type]
    if isinstance(value, decimal.Decimal):
        return (kind, str(value)) if value.is_nan() else (kind, value)
    if isinstance(value, Mapping):
        return (kind, frozenset((_frozen(k), _frozen(v)) for k, v in value.items()))
    if isinstance(value, (set, frozenset)):
        return (kind, frozenset(_frozen(x) for x in value))
    if isinstance(value, (list, tuple)):
        return (kind, tuple(_frozen(x) for x in value))
    if isinstance(value, (datetime.datetime, datetime.time)):
        return (kind, value.replace(tzinfo=None), value.fold, value.utcoffset())
    return (kind, value)


def shown(value: object) -> str:
    """`repr`, but the same on every run: the parts of a set stand in order."""
    if isinstance(value, Ref):
        return value.target
    if isinstance(value, (set, frozenset)):
        inner = ", ".join(sorted(shown(x) for x in value))
        name = "" if type(value) is set and value else type(value).__name__
        return f"{name}({{{inner}}})" if name and value else f"{name}()" if not value else f"{{{inner}}}"
    if type(value) is dict:
        return "{" + ", ".join(f"{shown(k)}: {shown(v)}" for k, v in value.items()) + "}"
    if type(value) is list:
        return "[" + ", ".join(map(shown, value)) + "]"
    if type(value) is tuple:
        return "(" + ", ".join(map(shown, value)) + (",)" if len(value) == 1 else ")")
    return repr(value)
