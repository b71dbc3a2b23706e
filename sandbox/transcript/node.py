"""A JSON value that knows where it stands, so that whatever is wrong with it can be said with file, line and field."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..errors import InputError
from .text import one_line

_KINDS = {dict: "an object", list: "a list", str: "a string", bool: "true or false", int: "a number", float: "a number"}


@dataclass(frozen=True, slots=True)
class Node:
    """`value` found in `place` (`file` or `file:line`) at `path` (`$.steps[0].source`)."""

    value: Any
    place: str
    path: str = "$"

    def fail(self, what: str) -> InputError:
        """The error to raise: where, which field, what to do."""
        return InputError(f"{self.place}: {one_line(self.path, 200)}: {what}")

    def at(self, key: str) -> Node:
        """The member `key`; its value is None when this is no object or has no such member."""
        value = self.value.get(key) if isinstance(self.value, dict) else None
        return Node(value, self.place, f"{self.path}.{key}")

    def has(self, *keys: str) -> bool:
        """Whether this is an object with all these members."""
        return isinstance(self.value, dict) and all(key in self.value for key in keys)

    def __bool__(self) -> bool:
        return self.value is not None

    def items(self) -> Iterator[Node]:
        """The elements of a list; raises InputError if it is something else, and yields nothing if it is missing."""
        if self.value is None:
            return
        for index, value in enumerate(self.array()):
            yield Node(value, self.place, f"{self.path}[{index}]")

    def array(self) -> list[Any]:
        """The list that must be here."""
        if not isinstance(self.value, list):
            raise self.fail(f"must be a list, is {self.kind}")
        return self.value

    def mapping(self) -> dict[str, Any]:
        """The object that must be here."""
        if not isinstance(self.value, dict):
            raise self.fail(f"must be an object, is {self.kind}")
        return self.value

    def text(self) -> str:
        """The string that must be here."""
        if not isinstance(self.value, str):
            raise self.fail(f"must be a string, is {self.kind}")
        return self.value

    def text_or(self, default: str) -> str:
        """The string here, or the default when it is missing; raises InputError for anything else."""
        return default if self.value is None else self.text()

    def maybe(self) -> str | None:
        """The string here, if it is one: for what only decorates."""
        return self.value if isinstance(self.value, str) and self.value else None

    def dict_or_empty(self) -> dict[str, Any]:
        """The object here, if it is one: for what only decorates."""
        return self.value if isinstance(self.value, dict) else {}

    def number(self) -> int | None:
        """The whole number here, if it is one."""
        return self.value if isinstance(self.value, int) and not isinstance(self.value, bool) else None

    @property
    def kind(self) -> str:
        """What is here, in words."""
        return "missing" if self.value is None else _KINDS.get(type(self.value), "something else")
