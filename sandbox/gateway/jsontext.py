"""JSON as it comes from agents and providers: parsed within bounds, written so that it can be sent."""

from __future__ import annotations

import json
from typing import Any, Final

DEPTH_LIMIT: Final = 100


class NotJson(ValueError):
    """What was sent is not a JSON object that we take; the text says why."""


def parse_object(data: bytes) -> dict[str, Any]:
    """The JSON object in the bytes. Raises NotJson. Of a key that occurs twice the last one counts, here and later."""
    try:
        value = json.loads(data.decode("utf-8-sig"), parse_constant=_refuse)
    except UnicodeDecodeError as e:
        raise NotJson(f"byte {e.start} is not UTF-8") from e
    except json.JSONDecodeError as e:
        raise NotJson(f"{e.msg} at line {e.lineno}, column {e.colno}") from e
    except RecursionError:
        raise NotJson("it is nested too deeply") from None
    except ValueError as e:
        raise NotJson("it holds a number that JSON does not have, or one with too many digits") from e
    if not isinstance(value, dict):
        raise NotJson("it is not an object")
    if _deeper(value, DEPTH_LIMIT):
        raise NotJson("it is nested too deeply")
    return value


def parse_loosely(data: bytes | str) -> Any:
    """The JSON value, or None if there is none: for what a provider sends, which is passed on whatever it is."""
    try:
        value = json.loads(data, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return None if _deeper(value, DEPTH_LIMIT) else value


def to_bytes(value: Any) -> bytes:
    """Compact JSON in UTF-8. Raises NotJson for an infinite number; half an emoji stays the escape that it was."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError as e:
        raise NotJson("it holds a number that JSON does not have") from e
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()


def canonical(value: Any) -> str:
    """The one text of a JSON value: keys sorted, ASCII."""
    return json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))


def _deeper(value: Any, limit: int) -> bool:
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(limit):
        level = [
            child
            for box in level
            for child in (box.values() if type(box) is dict else box)
            if type(child) is dict or type(child) is list
        ]
        if not level:
            return False
    return bool(level)


def _refuse(name: str) -> Any:
    raise ValueError(name)
