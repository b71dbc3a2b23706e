"""Reports as text."""

from __future__ import annotations

from typing import Dict, List


def format_cents(cents: int) -> str:
    """An amount for people: 123456 is 1,234.56, negative amounts in parentheses."""
    whole, rest = divmod(abs(cents), 100)
    text = f"{whole:,}.{rest:02d}"
    return f"({text})" if cents < 0 else text


def to_csv(rows: List[Dict[str, object]], columns: List[str]) -> str:
    """A CSV table with a header; missing fields are empty, quotes only where they are needed."""
    lines = [",".join(_cell(column) for column in columns)]
    for row in rows:
        lines.append(",".join(_cell(row.get(column, "")) for column in columns))
    return "\n".join(lines) + "\n"


def _cell(value: object) -> str:
    text = str(value)
    if any(mark in text for mark in ',"\n'):
        return '"' + text.replace('"', '""') + '"'
    return text
