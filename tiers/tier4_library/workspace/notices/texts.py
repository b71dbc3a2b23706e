"""The words of messages."""

from __future__ import annotations

from typing import List

from house.text import money, plural, single_spaced


def greeting(name: str) -> str:
    """The first line of a message."""
    return f"Dear {single_spaced(name)},"


def due_line(names: List[str]) -> str:
    """What is due, in a sentence."""
    return f"{plural(len(names), 'loan')} due: {'; '.join(names)}." if names else "Nothing is due."


def owed_line(cents: int) -> str:
    """What is owed, in a sentence."""
    return f"You owe {money(cents)}." if cents > 0 else "You owe nothing."
#:if R27


def headline(text: str, *, <<sub_kw>>: int = <<sub_len>>) -> str:
    """A text that is short enough for the top of a message."""
    text = single_spaced(text)
    if len(text) <= <<sub_kw>>:
        return text
    return text[: <<sub_kw>> - len("<<sub_end>>")].rstrip() + "<<sub_end>>"
#:end
