"""What a tree must look like before any of it is believed or stored."""

from __future__ import annotations

from dataclasses import dataclass

from .limits import GIB
from .tree import TreeItem, decode_path, encode_path, is_safe_path

MAX_TARGET = 4095


@dataclass(frozen=True, slots=True)
class Caps:
    """Bounds on a tree. Sizes in bytes; `max_depth` counts path components; `max_path` counts bytes."""

    max_files: int = 200_000
    max_bytes: int = 2 * GIB
    max_depth: int = 128
    max_path: int = 4095

    def to_wire(self) -> dict[str, int]:
        """The fields as the export request carries them."""
        return {
            "max_files": self.max_files,
            "max_bytes": self.max_bytes,
            "max_depth": self.max_depth,
            "max_path": self.max_path,
        }


class TreeRules:
    """Sees the items of one tree in turn; `violation` says what is wrong with the next one, or None.

    Because order is canonical, what a directory holds follows it at once:
    the directories above the last item are all the memory that the parent rule needs.
    """

    def __init__(self, caps: Caps) -> None:
        self._caps = caps
        self._last: tuple[bytes, ...] = ()
        self._open: list[bytes] = []
        self.items = 0
        self.bytes = 0

    def violation(self, item: TreeItem) -> str | None:
        """Why the item may not come next; an accepted one is counted."""
        if not is_safe_path(item.path):
            return "unsafe path"
        try:
            raw = encode_path(item.path)
            target = encode_path(item.target) if item.target is not None else None
        except UnicodeEncodeError:
            return "a name that no filesystem can hold"
        # Lone surrogates could spell out valid UTF-8: two texts for one name.
        if decode_path(raw) != item.path:
            return "a second spelling of a name"
        key = tuple(raw.split(b"/"))
        return self._bad_shape(item, target) or self._bad_place(item, key) or self._too_much(item, key)

    def _bad_shape(self, item: TreeItem, target: bytes | None) -> str | None:
        if item.mode & ~0o777:
            return "mode bits beyond the permissions"
        if item.size < 0 or (item.size and item.kind != "f"):
            return "impossible size"
        if (item.kind == "l") != (target is not None):
            return "a target where there is no link, or none where there is one"
        if target is not None and not (0 < len(target) <= MAX_TARGET and b"\0" not in target):
            return "impossible link target"
        return None

    def _bad_place(self, item: TreeItem, key: tuple[bytes, ...]) -> str | None:
        if key <= self._last:
            return "out of order"
        parents = list(key[:-1])
        if parents != self._open[: len(parents)]:
            return "not below a directory of the tree"
        self._last = key
        self._open = [*parents, key[-1]] if item.kind == "d" else parents
        return None

    def _too_much(self, item: TreeItem, key: tuple[bytes, ...]) -> str | None:
        self.items += 1
        self.bytes += item.size
        if self.items > self._caps.max_files:
            return f"more than {self._caps.max_files} items"
        if self.bytes > self._caps.max_bytes:
            return f"more than {self._caps.max_bytes} bytes"
        if len(key) > self._caps.max_depth:
            return f"deeper than {self._caps.max_depth}"
        if sum(map(len, key)) + len(key) - 1 > self._caps.max_path:
            return f"a path longer than {self._caps.max_path} bytes"
        return None
