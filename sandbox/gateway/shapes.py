"""Small readers for JSON that may have any shape: what is not as expected is nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

_NOTHING: Mapping[str, Any] = {}


def mapping(value: object) -> Mapping[str, Any]:
    """The object, or an empty one."""
    return value if isinstance(value, dict) else _NOTHING


def mappings(value: object) -> Iterator[Mapping[str, Any]]:
    """The objects of a list."""
    if isinstance(value, list):
        yield from (one for one in value if isinstance(one, dict))


def string(value: object) -> str | None:
    """The text, if it is one and not empty."""
    return value if isinstance(value, str) and value else None


def text_of(content: object) -> str:
    """The text of a content in any of the formats; what is no text has its place marked."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return part_text(content)
    if not isinstance(content, list):
        return ""
    return "\n".join(text for text in (text_of(part) for part in content) if text)


def part_text(part: Mapping[str, Any]) -> str:
    """The text of one part of a message."""
    for name in ("text", "refusal"):
        if isinstance(part.get(name), str):
            return str(part[name])
    kind = string(part.get("type"))
    if kind in ("thinking", "redacted_thinking", "reasoning"):
        return ""
    if isinstance(part.get("content"), str | list):
        return text_of(part["content"])
    # An image is megabytes of base64: the transcript names it by its hash.
    data = json.dumps(part, sort_keys=True).encode()
    return f"[{kind or next(iter(part), 'part')}, {len(data)} bytes, sha256:{hashlib.sha256(data).hexdigest()[:16]}]"
