"""Message contents as the providers write them, brought to text; what is not text is counted as left out."""

from __future__ import annotations

import json
import re
from typing import Any

from ..errors import InputError
from .node import Node
from .reading import Caps, parse_json
from .report import Tally

# A tuple: what is looked up in it may be anything, even what has no hash.
_TEXT_TYPES = ("text", "input_text", "output_text", "reasoning", "summary_text")
_CUT = re.compile(
    r"\[\.\.\. Observation truncated due to length \.\.\.\]|<response clipped>|<elided_chars>|characters were elided"
    r"|\[\.\.\. omitted \d+ of \d+ lines \.\.\.\]|…\d+ (?:tokens|chars) truncated…|\.\.\. \[\d+ lines? truncated\] \.\.\."
    r"|\[\d+ (?:lines|characters) truncated\]|<persisted-output>|Output too large\. Saved to"
)


def text_of(content: Node, tally: Tally) -> str:
    """The text of a content that is a string, a list of parts, or missing."""
    value = content.value
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return _part(content, tally)
    return "\n".join(part for part in (_part(node, tally) for node in content.items()) if part)


def _part(node: Node, tally: Tally) -> str:
    value = node.value
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        raise node.fail(f"must be a part of a message, is {node.kind}")
    text = value.get("text")
    kind = value.get("type")
    if isinstance(text, str) and (kind is None or kind in _TEXT_TYPES):
        return text
    name = kind if isinstance(kind, str) else "media"
    short = re.sub(r"[^\w-]", "", name)[:20] or "media"
    tally.drop("media", "content that is not text, such as an image; the message has its place marked")
    return f"[{short}]"


def arguments_of(node: Node, caps: Caps) -> dict[str, Any]:
    """Arguments of a call: an object, or JSON text of one; text that is none stays whole under `raw`."""
    value = node.value
    if value is None:
        return {}
    if isinstance(value, dict):
        return value
    if isinstance(value, str):
        if not value.strip():
            return {}
        try:
            parsed = parse_json(value, node.place, caps)
        except InputError:
            return {"raw": value}
        return parsed if isinstance(parsed, dict) else {"raw": value}
    return {"raw": json.dumps(value, ensure_ascii=False)}


def is_cut(text: str) -> bool:
    """Whether an output says of itself that the agent was shown only part of it."""
    return _CUT.search(text) is not None
