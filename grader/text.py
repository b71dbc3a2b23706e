"""Text that came from a sandbox, made fit to be shown."""

from __future__ import annotations

import os
import re

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
    """A path as text that can be printed, stored and read back by eye: odd bytes and characters as escapes."""
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
