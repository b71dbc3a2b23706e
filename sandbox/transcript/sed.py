"""Which lines a sed script shows or changes, as far as its addresses tell."""

from __future__ import annotations

import re
from typing import NamedTuple

Lines = tuple[int | None, int | None]
_RANGE = r"(\d{1,8})(?:\s*,\s*(\d{1,8}|\+\d{1,8}|\$))?\s*"
_SHOWN = re.compile(_RANGE + r"p")
_KEPT = re.compile(_RANGE + r"!\s*d")
_QUIT = re.compile(r"(\d{1,8})\s*q")
_CHANGED = re.compile(_RANGE + r"[sdcaiy]")


class Sed(NamedTuple):
    """A call of sed: whether it rewrites its files, its scripts, its files."""

    in_place: bool
    quiet: bool
    scripts: list[str]
    files: list[str]


def read_arguments(arguments: list[str]) -> Sed:
    """Take a call of sed apart."""
    in_place = quiet = False
    scripts: list[str] = []
    rest: list[str] = []
    given = iter(arguments)
    for one in given:
        if one.startswith("--"):
            name, _, value = one.partition("=")
            in_place = in_place or name == "--in-place"
            quiet = quiet or name in ("--quiet", "--silent")
            if name == "--expression":
                scripts.append(value or next(given, ""))
        elif one.startswith("-") and len(one) > 1:
            letters = one[1:]
            quiet = quiet or "n" in letters.split("e", 1)[0].split("i", 1)[0]
            if "i" in letters.split("e", 1)[0]:
                in_place = True
            elif "e" in letters:
                scripts.append(letters.split("e", 1)[1] or next(given, ""))
            elif letters.endswith("f"):
                scripts.append("")
                next(given, None)
        else:
            rest.append(one)
    if not scripts and rest:
        scripts.append(rest.pop(0))
    if in_place and rest and rest[0] == "":
        rest.pop(0)
    return Sed(in_place, quiet, scripts, rest)


def shown_lines(call: Sed) -> list[Lines]:
    """What a call prints of each file; one entry without lines when the script does not tell."""
    ranges: list[Lines] = []
    for part in _parts(call.scripts):
        found = (_SHOWN if call.quiet else _KEPT).fullmatch(part)
        if found:
            ranges.append(_lines(found))
        elif (quits := _QUIT.fullmatch(part)) and not call.quiet:
            ranges.append((1, int(quits.group(1))))
    return ranges or [(None, None)]


def changed_lines(call: Sed) -> list[Lines]:
    """What a call in place changes of each file."""
    ranges: list[Lines] = []
    for part in _parts(call.scripts):
        found = _CHANGED.match(part)
        if found is None:
            return [(None, None)]
        ranges.append(_lines(found))
    return ranges or [(None, None)]


def _parts(scripts: list[str]) -> list[str]:
    """The commands of scripts; a script that substitutes text is not cut, since the text may hold a `;`."""
    parts: list[str] = []
    for script in scripts:
        cut = re.split(r"[;\n]", script) if re.fullmatch(r"[\d\s,$+!;pdq\n{}]*", script) else [script]
        parts.extend(part.strip(" {}") for part in cut if part.strip(" {}"))
    return parts


def _lines(found: re.Match[str]) -> Lines:
    start = int(found.group(1))
    end = found.group(2)
    if end is None:
        return start, start
    if end == "$":
        return start, None
    return (start, start + int(end[1:])) if end.startswith("+") else (start, max(start, int(end)))
