"""Text from strangers: made safe for a terminal, for an error message, for UTF-8."""

from __future__ import annotations

import re
from typing import Any

# What moves a cursor, starts an escape sequence, turns the reading direction or cannot be seen.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_NAMED = {"\r": "\\r", "\x1b": "\\e", "\0": "\\0"}


def printable(text: str) -> str:
    """The text with everything a terminal could obey escaped; tabs and line ends stay, CRLF becomes a line end."""
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE.sub(_escape, text.replace("\r\n", "\n"))


def one_line(text: str, limit: int = 120) -> str:
    """The text on one line and not longer than `limit`, for messages."""
    flat = printable(text[: limit * 4].replace("\n", "\\n").replace("\t", " "))
    return flat if len(flat) <= limit and len(text) <= limit * 4 else flat[: limit - 1] + "…"


def without_surrogates(text: str) -> str:
    """The text with lone surrogates, which UTF-8 cannot carry, replaced by U+FFFD."""
    return _SURROGATE.sub("\ufffd", text)


def clean_json(value: Any) -> Any:
    """A JSON value in which every lone surrogate, in keys too, is U+FFFD."""
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, dict):
        return {clean_json(key): clean_json(one) for key, one in value.items()}
    if isinstance(value, list):
        return [clean_json(one) for one in value]
    return value


def has_surrogates(text: str) -> bool:
    """Whether UTF-8 cannot carry the text."""
    return _SURROGATE.search(text) is not None


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    if char in _NAMED:
        return _NAMED[char]
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
