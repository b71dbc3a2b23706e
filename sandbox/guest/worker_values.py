"""Typed JSON of plain values, on the untrusted side: exact builtin types, within limits, nothing else.

The trusted side has its own reader (grader/plain.py) and believes none of this. `worker.source` puts this file
before worker.py; the sandbox gets one text.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import enum
import importlib
from typing import Any, Callable

MAX_DEPTH = 32
MAX_NODES = 50000
MAX_CHARACTERS = 65536
MAX_BITS = 200000
MAX_NAME = 2000

# What code of an agent may raise; SystemExit and KeyboardInterrupt are outcomes like any other.
ANYTHING = (BaseException,)


def name_of(kind: Any) -> str:
    """The full name of a class, builtins without their module."""
    name, module = str(getattr(kind, "__qualname__", "?")), str(getattr(kind, "__module__", "?"))
    return (name if module == "builtins" else module + "." + name)[:MAX_NAME]


class Unplain(Exception):
    """A value that has no plain form, or too much of it."""


class Encoder:
    """Typed JSON of exact builtin types, counting what one value costs; `opened` turns objects into dicts."""

    def __init__(self, opened: bool = False) -> None:
        self.opened = opened
        self.nodes = 0
        self.characters = 0
        self.within: list[int] = []

    def encode(self, value: Any, depth: int = 0) -> Any:
        """The typed JSON of a value; raises Unplain."""
        self.nodes += 1
        if depth > MAX_DEPTH:
            raise Unplain("is nested deeper than %d levels" % MAX_DEPTH)
        if self.nodes > MAX_NODES:
            raise Unplain("has more than %d parts" % MAX_NODES)
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is str:
            return self.text(value)
        if kind in (list, tuple, set, frozenset):
            return [kind.__name__, [self.encode(item, depth + 1) for item in value]]
        if kind is dict:
            return ["dict", [[self.encode(k, depth + 1), self.encode(v, depth + 1)] for k, v in value.items()]]
        if kind in SCALARS:
            coded = SCALARS[kind](value)
            self.text(str(coded[1]))
            return coded
        if isinstance(value, enum.Enum):
            return ["target", self.text("%s:%s.%s" % (kind.__module__, kind.__qualname__, value.name))]
        if self.opened:
            return self.fields(value, depth)
        raise Unplain("holds a %s" % name_of(kind))

    def text(self, text: str) -> str:
        """The text itself, if there is room for it."""
        self.characters += len(text)
        if self.characters > MAX_CHARACTERS:
            raise Unplain("is too large")
        return text

    def fields(self, value: Any, depth: int = 0) -> Any:
        """The attributes of an object that have a plain form, as a typed dict; declared ones where it declares any."""
        if id(value) in self.within:
            raise Unplain("holds itself")
        self.within.append(id(value))
        pairs = []
        for name in field_names(value):
            try:
                pairs.append([self.text(str(name)), self.encode(getattr(value, name), depth + 1)])
            except ANYTHING:
                continue
        self.within.pop()
        return ["dict", pairs]


def field_names(value: Any) -> list[Any]:
    """The names of an object's attributes; none where it fights being looked at."""
    try:
        names = getattr(type(value), "__dataclass_fields__", None) or getattr(type(value), "_fields", None)
        return list(getattr(value, "__dict__", {}) if names is None else names)[:200]
    except ANYTHING:
        return []


def encode_int(value: int) -> list[Any]:
    """An int as hex: no limit on digits, and no square time."""
    if value.bit_length() > MAX_BITS:
        raise Unplain("is too large")
    return ["int", hex(value)]


def encode_moment(value: Any) -> list[Any]:
    """A datetime or time: its clock reading, its fold and its offset; other zones are objects with a mind of their own."""
    zone, offset = value.tzinfo, None
    if zone is not None:
        if type(zone) is not datetime.timezone:
            raise Unplain("holds a %s" % name_of(type(zone)))
        delta = zone.utcoffset(None)
        offset = [delta.days, delta.seconds, delta.microseconds]
    return [type(value).__name__, value.replace(tzinfo=None, fold=0).isoformat(), value.fold, offset]


SCALARS: dict[type, Callable[[Any], list[Any]]] = {
    int: encode_int,
    float: lambda v: ["float", v.hex()],
    bytes: lambda v: ["bytes", base64.b64encode(v).decode("ascii")],
    decimal.Decimal: lambda v: ["decimal", str(v)],
    datetime.date: lambda v: ["date", v.isoformat()],
    datetime.datetime: encode_moment,
    datetime.time: encode_moment,
    datetime.timedelta: lambda v: ["timedelta", v.days, v.seconds, v.microseconds],
}


def decode_moment(kind: Any, text: str, fold: int, offset: list[int] | None) -> Any:
    """The inverse of encode_moment."""
    zone = None if offset is None else datetime.timezone(datetime.timedelta(*offset))
    return kind.fromisoformat(text).replace(fold=fold, tzinfo=zone)


DECODERS: dict[str, Callable[..., Any]] = {
    "int": lambda text: int(text, 16),
    "float": float.fromhex,
    "bytes": base64.b64decode,
    "decimal": decimal.Decimal,
    "date": datetime.date.fromisoformat,
    "datetime": lambda *parts: decode_moment(datetime.datetime, *parts),
    "time": lambda *parts: decode_moment(datetime.time, *parts),
    "timedelta": datetime.timedelta,
}
SEQUENCES: dict[str, Callable[[list[Any]], Any]] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}


def decode(raw: Any, results: list[Any]) -> Any:
    """A value that the trusted side sent; `step` and `target` arguments are looked up here."""
    if not isinstance(raw, list):
        return raw
    tag, rest = raw[0], raw[1:]
    if tag in SEQUENCES:
        return SEQUENCES[tag]([decode(item, results) for item in rest[0]])
    if tag == "dict":
        return {decode(k, results): decode(v, results) for k, v in rest[0]}
    if tag == "step":
        return results[rest[0]]
    if tag == "target":
        return find(rest[0])
    return DECODERS[tag](*rest)


def find(target: str) -> Any:
    """What `pkg.mod:name.attribute` names."""
    module, _, names = target.partition(":")
    found: Any = importlib.import_module(module)
    for name in names.split(".") if names else ():
        found = getattr(found, name)
    return found
