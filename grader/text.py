"""Text that came from a sandbox, made fit to be shown."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NUMBERED = re.compile(r"([^0-9]+)([0-9]{1,9})")
_ADDRESS = re.compile("0x[0-9a-f]{6,16}")
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def clean(text: str, keep: str = "\n\t") -> str:
    """The text without control characters, lone surrogates and characters that turn or hide text."""
    return "".join(c if c.isprintable() or c in keep else REPLACEMENT for c in text)


def one_line(text: str, width: int = 400) -> str:
    """The text as one clean line of at most `width` characters, without what differs from run to run."""
    return short(clean(_ADDRESS.sub("0x…", " ".join(text.split())), keep=""), width)


def short(text: str, width: int = 200) -> str:
    """The text, cut with an ellipsis when it is longer than `width` characters."""
    return text if len(text) <= width else text[: width - 1] + "\N{HORIZONTAL ELLIPSIS}"


def path_text(path: str) -> str:
    """A path, or any text, that can be printed, stored and read back by eye: odd bytes and characters as escapes."""
    return "".join(c if c.isprintable() else _escaped(c) for c in path)


def _escaped(character: str) -> str:
    """The escape of one character; a byte that was no UTF-8 and came as a lone surrogate is shown as that byte."""
    if "\udc80" <= character <= "\udcff":
        return f"\\x{ord(character) - 0xDC00:02x}"
    return character.encode("unicode_escape").decode("ascii")


def ranges(names: Sequence[str]) -> str:
    """Names in order with runs of numbers drawn together: R1, R3-R5, B2."""
    groups: list[list[str]] = []
    for name in names:
        match, last = _NUMBERED.fullmatch(name), _NUMBERED.fullmatch(groups[-1][-1]) if groups else None
        follows = match and last and match[1] == last[1] and int(match[2]) == int(last[2]) + 1
        if follows:
            groups[-1].append(name)
        else:
            groups.append([name])
    parts = [
        [group[0]] if len(group) == 1 else [f"{group[0]}-{group[-1]}"] if len(group) > 2 else group for group in groups
    ]
    return ", ".join(part for group in parts for part in group)
