"""Changes to texts: notes, readme, settings. Pure functions from bytes to bytes; NoPlace where there is no place."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from .defects import NoPlace
from .model import Mode, Position
from .twins import harmless
from .wording import Lines, stale_line

MAX_TEXT: Final = 4 << 20
_NUMBER: Final = re.compile(r"\d{2,}")
_CLAUSE: Final = re.compile(r"[;,.](?=\s)")
_FILLER: Final = " and the rest as was agreed on with the others in the weeks before this was written down"


def with_lines(text: bytes | None, lines: Lines, *, mode: Mode, position: Position, mark: str = "") -> bytes:
    """Lines put into a text (a new one if there was none), each behind `mark`; or in the place of its first line."""
    marked = [f"{mark}{line}".rstrip() for line in lines]
    if text is None:
        if mode is Mode.REPLACE:
            raise NoPlace("there is no text whose first line could be replaced")
        return "".join(f"{line}\n" for line in marked).encode()
    body = _decoded(text).split("\n")
    if mode is Mode.REPLACE:
        at = next((n for n, line in enumerate(body) if line.strip()), None)
        if at is None:
            raise NoPlace("the text is empty")
        return _encoded([*body[:at], *marked, *body[at + 1 :]])
    at = _position(body, position)
    before, after = body[:at], body[at:]
    gap_before = [""] if before and before[-1].strip() and not mark else []
    gap_after = [""] if after and after[0].strip() and not mark else []
    return _encoded([*before, *gap_before, *marked, *gap_after, *after])


def without_clause(text: bytes | None, names: tuple[str, ...], *, twin: bool) -> bytes:
    """The entry of the first name that has two clauses, its last one filled with words; the twin swaps two entries."""
    body = _decoded(_there(text)).split("\n")
    for at in _entries(body, names):
        cuts = [match.start() for match in _CLAUSE.finditer(body[at])]
        kept = next((cut for cut in reversed(cuts) if len(body[at].rstrip()) - cut > 12), None)
        if kept is not None:
            line = body[at].rstrip()
            changed = line[: kept + 1] + _fill(len(line) - kept - 1)
            return _encoded(_swapped(body, at) if twin else [*body[:at], changed, *body[at + 1 :]])
    raise NoPlace("the notes have no entry with a detail to drop")


def with_stale_value(text: bytes | None, names: tuple[str, ...], *, mode: Mode, twin: bool) -> bytes:
    """The entry of the first name that states a number, with another one of as many digits in its place.

    Appended, a line says that the number had always been the other one. The twin swaps two entries, or appends words.
    """
    body = _decoded(_there(text)).split("\n")
    for at in _entries(body, names):
        found = list(_NUMBER.finditer(body[at]))
        if not found:
            continue
        new = found[-1]
        old = _former(new[0])
        if mode is Mode.APPEND:
            name = next(one for one in names if mentions(body[at], one))
            line = stale_line(name, old, new[0])
            return with_lines(text, (harmless(line) if twin else line,), mode=mode, position=Position.END)
        changed = body[at][: new.start()] + old + body[at][new.end() :]
        return _encoded(_swapped(body, at) if twin else [*body[:at], changed, *body[at + 1 :]])
    raise NoPlace("the notes have no entry with a number")


def into_transcript(text: bytes, lines: Lines) -> bytes:
    """Lines in the last message of the agent in an ATIF transcript."""
    try:
        transcript = json.loads(_decoded(text))
        steps = [step for step in transcript["steps"] if step["source"] == "agent" and isinstance(step["message"], str)]
        last: dict[str, Any] = steps[-1]
    except (ValueError, RecursionError, LookupError, TypeError):
        raise NoPlace("the transcript has no message of an agent") from None
    last["message"] = "\n".join([last["message"], *lines])
    return (json.dumps(transcript, ensure_ascii=False, indent=2) + "\n").encode("utf-8", "surrogateescape")


def revouched(app_map: bytes, path: str, digest: str) -> bytes:
    """An app map whose hash of one path is another; NoPlace if it has none."""
    pattern = re.compile(rf"^([0-9a-f]{{16,64}})(  {re.escape(path)})$", re.MULTILINE)
    text, count = pattern.subn(lambda found: digest[: len(found[1])] + found[2], _decoded(app_map))
    if not count:
        raise NoPlace(f"the map has no hash of {path}")
    return text.encode("utf-8", "surrogateescape")


def _position(body: list[str], position: Position) -> int:
    """The index before which lines go: below the title, at the blank line next to the middle, or at the end."""
    end = len(body) - 1 if body[-1] == "" else len(body)
    if position is Position.END:
        return end
    blanks = [n for n, line in enumerate(body[:end]) if not line.strip()]
    if position is Position.TOP:
        return blanks[0] + 1 if blanks else end
    return min(blanks, key=lambda n: abs(n - end // 2)) + 1 if blanks else end


def _entries(body: list[str], names: tuple[str, ...]) -> list[int]:
    """The lines that are entries, in the order of the names; a line belongs to the first that it mentions."""
    return [n for name in names for n, line in enumerate(body) if mentions(line, name)]


def mentions(line: str, name: str) -> bool:
    """Whether a line has a name as a word of its own."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", line) is not None


def _swapped(body: list[str], at: int) -> list[str]:
    """The lines with an entry and its neighbour in each other's place."""
    for other in (at + 1, at - 1):
        if 0 <= other < len(body) and body[other].strip() and not body[other].startswith("#"):
            changed = list(body)
            changed[at], changed[other] = body[other], body[at]
            return changed
    raise NoPlace("no twin: the entry has no neighbour to change places with")


def _former(number: str) -> str:
    """Another number of as many digits."""
    value = int(number)
    for other in (value - 1, value + 1):
        if len(str(other)) == len(number):
            return str(other)
    return number[:-1] + ("1" if number[-1] != "1" else "2")


def _fill(size: int) -> str:
    text = _FILLER * (1 + size // len(_FILLER))
    return text[:size]


def _there(text: bytes | None) -> bytes:
    if text is None:
        raise NoPlace("there are no such notes")
    return text


def _decoded(text: bytes) -> str:
    if len(text) > MAX_TEXT:
        raise NoPlace(f"a text of {len(text)} bytes")
    return text.decode("utf-8", "surrogateescape")


def _encoded(lines: list[str]) -> bytes:
    return "\n".join(lines).encode("utf-8", "surrogateescape")
