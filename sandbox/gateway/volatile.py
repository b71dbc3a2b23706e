"""What of a request may differ from one day to the next and still be the same request: dates, clocks, ids, hashes.

Each recipe of an agent declares it, as `volatile` with `fields` and `patterns`; matching against a cassette leaves it out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, ValidationError

from ..errors import InputError
from ..transcript.building import validation_text

PLACEHOLDER: Final = "<~>"
_PATH: Final = re.compile(r"[^.\[\]]+(?:\[\*\])*(?:\.[^.\[\]]+(?:\[\*\])*)*")
_STEP: Final = re.compile(r"\[\*\]|[^.\[\]]+")


@dataclass(frozen=True, slots=True)
class Volatile:
    """`fields` are paths to leave out (`metadata.user_id`, `input[*].id`), `patterns` regular expressions over texts.

    Where a pattern has groups, they are left out; else the whole match is.
    """

    fields: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()

    def __add__(self, other: Volatile) -> Volatile:
        return Volatile(self.fields + other.fields, self.patterns + other.patterns)


NOTHING_VOLATILE: Final = Volatile()

_MONTH: Final = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
# What any tool may print and any agent may put into its prompt.
COMMON: Final = Volatile(
    patterns=(
        r"\b\d{4}[-/]\d{2}[-/]\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?",
        rf"\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? )?{_MONTH} \d{{1,2}},? (?:\d{{2}}:\d{{2}}:\d{{2}} )?(?:[A-Z]{{3,4}} )?\d{{4}}",
        rf"\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? )?\d{{1,2}} {_MONTH},? \d{{4}}",
        rf"\b{_MONTH} +\d{{1,2}} +\d{{1,2}}:\d{{2}}\b",
        r"\b\d{1,2}/\d{1,2}/\d{4}\b",
        r"\b\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?: ?[AP]M)?\b",
        r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
        r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b",
        # A line of `git log --oneline`; some abbreviated hashes are digits alone.
        r"(?m)^([0-9a-f]{7,40})(?= \S)",
        r"\b\d+\.\d+ ?(?:s|ms|sec|seconds)\b",
    )
)


class _Declared(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    fields_: list[str] = []
    patterns: list[str] = []


def declared(value: object, place: str) -> Volatile:
    """The declaration of a recipe: a mapping with `fields` and `patterns`. Raises InputError."""
    given = (
        {("fields_" if key == "fields" else key): one for key, one in value.items()}
        if isinstance(value, dict)
        else value
    )
    try:
        made = _Declared.model_validate(given)
    except ValidationError as e:
        raise InputError(f"{place}: {validation_text(e).replace('fields_', 'fields')}") from e
    for number, pattern in enumerate(made.patterns):
        try:
            re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as e:
            raise InputError(f"{place}: patterns[{number}]: is no regular expression: {e}") from e
    for number, path in enumerate(made.fields_):
        if _PATH.fullmatch(path) is None:
            raise InputError(f"{place}: fields[{number}]: write it as a.b or a[*].b")
    return Volatile(tuple(made.fields_), tuple(made.patterns))


def stable(document: Mapping[str, Any], volatile: Volatile) -> Any:
    """The document without what is volatile."""
    patterns = _compiled(volatile.patterns)
    skipped = [tuple(_STEP.findall(path)) for path in volatile.fields]
    return _stable(document, skipped, patterns)


def _stable(value: Any, skipped: list[tuple[str, ...]], patterns: tuple[re.Pattern[str], ...]) -> Any:
    if isinstance(value, str):
        for pattern in patterns:
            value = pattern.sub(_blank, value)
        return value
    if isinstance(value, dict):
        here = {path[0] for path in skipped if len(path) == 1}
        return {
            key: _stable(one, [path[1:] for path in skipped if path[0] == key], patterns)
            for key, one in value.items()
            if key not in here
        }
    if isinstance(value, list):
        inner = [path[1:] for path in skipped if path[0] == "[*]"]
        return [_stable(one, inner, patterns) for one in value]
    return value


def _blank(match: re.Match[str]) -> str:
    if not match.re.groups:
        return PLACEHOLDER
    text, start = match.group(), match.start()
    for number in range(match.re.groups, 0, -1):
        if match.group(number) is not None:
            text = text[: match.start(number) - start] + PLACEHOLDER + text[match.end(number) - start :]
    return text


@lru_cache(maxsize=64)
def _compiled(patterns: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern) for pattern in patterns)
