"""A workspace as data: its items, their canonical order, and what differs between two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["f", "d", "l"]


@dataclass(frozen=True, slots=True)
class TreeItem:
    """One file, directory or symlink.

    `path` is relative, "/"-separated, undecodable bytes as lone surrogates.
    `mode` holds the permission bits only; `size` is in bytes; `sha256` is set for files, `target` for links.
    """

    path: str
    kind: Kind
    mode: int
    size: int = 0
    sha256: str | None = None
    target: str | None = None


@dataclass(frozen=True, slots=True)
class Changes:
    """Paths that differ between two manifests, each list in canonical order."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)

    @property
    def paths(self) -> tuple[str, ...]:
        """All of them, in canonical order."""
        return tuple(sorted((*self.added, *self.removed, *self.changed), key=canonical_key))


class Manifest(Mapping[str, TreeItem]):
    """The items of one tree by path, in canonical order."""

    def __init__(self, items: Mapping[str, TreeItem]) -> None:
        self._items = {path: items[path] for path in sorted(items, key=canonical_key)}

    def __getitem__(self, path: str) -> TreeItem:
        return self._items[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def diff(self, later: Manifest) -> Changes:
        """What happened between this manifest and a later one: content, kind, mode or link text."""
        return Changes(
            added=tuple(p for p in later if p not in self),
            removed=tuple(p for p in self if p not in later),
            changed=tuple(p for p in self if p in later and self[p] != later[p]),
        )


def canonical_key(path: str) -> tuple[bytes, ...]:
    """The sort key of a path: its components as bytes, so a directory stands before what it holds."""
    return tuple(encode_path(path).split(b"/"))


def encode_path(path: str) -> bytes:
    """A path's bytes, whatever the locale of the host; UnicodeEncodeError if no filesystem could hold it."""
    return path.encode("utf-8", "surrogateescape")


def decode_path(raw: bytes) -> str:
    """The one text form of a path's bytes."""
    return raw.decode("utf-8", "surrogateescape")


def is_safe_path(path: str) -> bool:
    """Whether a path names something below a root: relative, no empty, `.` or `..` component, no NUL."""
    return "\0" not in path and all(part not in ("", ".", "..") for part in path.split("/"))
