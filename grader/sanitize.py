"""What of a workspace may reach the interpreter that answers the checks' questions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from ..sandbox.tree import TreeItem

T = TypeVar("T")

DROPPED_FOLDERS = frozenset({".git", "__pycache__"})
DROPPED_SUFFIXES = (".pyc", ".pyo")


def is_kept(path: str) -> bool:
    """Whether a path stays: compiled Python goes, which may differ from the source beside it, and so does git."""
    return not DROPPED_FOLDERS & set(path.split("/")) and not path.endswith(DROPPED_SUFFIXES)


def sanitized(items: Iterable[tuple[TreeItem, T]]) -> Iterator[tuple[TreeItem, T]]:
    """The items of a snapshot without what is dropped, in the order in which they came."""
    return ((item, content) for item, content in items if is_kept(item.path))
