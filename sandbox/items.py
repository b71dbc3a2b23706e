"""Trees that we write ourselves: plain files, and the directories that their paths imply."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import BinaryIO

from .tree import TreeItem, canonical_key

Content = BinaryIO | bytes


def plain_file(path: str, data: bytes, mode: int | None = None) -> TreeItem:
    """The item of a file; without a mode it is executable exactly if it starts with `#!`."""
    chosen = mode if mode is not None else 0o755 if data.startswith(b"#!") else 0o644
    return TreeItem(path, "f", chosen, len(data))


def plain_tree(files: Mapping[str, bytes]) -> Iterator[tuple[TreeItem, Content]]:
    """Files as a whole tree in canonical order."""
    return whole_tree((plain_file(path, data), data) for path, data in files.items())


def whole_tree(items: Iterable[tuple[TreeItem, Content]]) -> Iterator[tuple[TreeItem, Content]]:
    """Items in canonical order, with the directories (mode 755) that their paths imply."""
    given = {item.path: (item, content) for item, content in items}
    for path in list(given):
        parent = path.rpartition("/")[0]
        while parent and parent not in given:
            given[parent] = (TreeItem(parent, "d", 0o755), b"")
            parent = parent.rpartition("/")[0]
    for path in sorted(given, key=canonical_key):
        yield given[path]
