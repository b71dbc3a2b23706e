"""What Gate I knows of a tree: entries, findings, and the Merkle root over the entries.

The Merkle tree is the one of RFC 6962 over the entries in canonical order: leaf = SHA-256(0x00, encoding),
inner node = SHA-256(0x01, left, right), n > 1 leaves split at the largest power of two below n (so an odd
node is carried up as it is, never doubled), no leaves = SHA-256 of nothing. A leaf's encoding is six
netstrings: path, kind, mode in octal, size in decimal, SHA-256 in hex or nothing, link text or nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType
from typing import Literal

from .tree import TreeItem, canonical_key

Kind = Literal["file", "directory", "link", "fifo", "socket", "char-device", "block-device"]
KINDS: dict[str, Kind] = {"f": "file", "d": "directory", "l": "link"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing in a tree.

    `path` is relative, "/"-separated, undecodable bytes as lone surrogates. `mode` holds the permission bits,
    `size` bytes (0 but for files). `sha256` is set for files that could be read whole, `target` for links.
    """

    path: str
    kind: Kind
    mode: int
    size: int = 0
    sha256: str | None = None
    target: str | None = None

    @classmethod
    def of(cls, item: TreeItem) -> Entry:
        """The entry of an item of a sandbox's own manifest."""
        size = item.size if item.kind == "f" else 0
        return cls(item.path, KINDS[item.kind], item.mode, size, item.sha256, item.target)


class FindingKind(StrEnum):
    """What can be wrong with a tree beside its content; the first group leaves the record incomplete."""

    UNREADABLE = "unreadable"
    TOO_DEEP = "too-deep"
    TOO_MANY = "too-many"
    TOO_LARGE = "too-large"
    LEFT_OUT = "left-out"
    REPLACED_WHILE_READ = "replaced-while-read"

    SPECIAL_FILE = "special-file"
    SET_ID = "set-id"
    ODD_NAME = "odd-name"
    NESTED_REPOSITORY = "nested-repository"

    GIT_HOOK = "git-hook"
    GIT_CONFIG = "git-config"
    GIT_EXCLUDE = "git-exclude"
    GIT_ATTRIBUTES = "git-attributes"
    GIT_POINTER = "git-pointer"
    GIT_ALTERNATES = "git-alternates"
    GIT_REPLACE = "git-replace"
    GIT_SPECIAL = "git-special"

    BYTECODE_STALE = "bytecode-stale"
    BYTECODE_FORGED = "bytecode-forged"
    BYTECODE_ORPHAN = "bytecode-orphan"
    BYTECODE_UNPROVEN = "bytecode-unproven"


INCOMPLETE = frozenset(
    {
        FindingKind.UNREADABLE,
        FindingKind.TOO_DEEP,
        FindingKind.TOO_MANY,
        FindingKind.TOO_LARGE,
        FindingKind.LEFT_OUT,
        FindingKind.REPLACED_WHILE_READ,
    }
)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something a reader of the record must know; `detail` says it in words."""

    kind: FindingKind
    path: str
    detail: str

    @property
    def incomplete(self) -> bool:
        """Whether what lies at `path` (or below it) is not, or not wholly, in the record."""
        return self.kind in INCOMPLETE


class Record:
    """A tree at one moment: entries by path in canonical order, and findings. Immutable."""

    def __init__(self, entries: Iterable[Entry], findings: Iterable[Finding] = (), *, ordered: bool = False) -> None:
        """`ordered`: the caller has made sure that the entries stand in canonical order."""
        listed = tuple(entries) if ordered else sorted(entries, key=lambda entry: canonical_key(entry.path))
        self.entries: Mapping[str, Entry] = MappingProxyType({entry.path: entry for entry in listed})
        if len(self.entries) != len(listed):
            raise ValueError("a path occurs twice")
        self.findings = tuple(sorted(set(findings), key=lambda f: (canonical_key(f.path), f.kind, f.detail)))

    @property
    def complete(self) -> bool:
        """Whether everything in the tree is in the record."""
        return not any(finding.incomplete for finding in self.findings)

    @cached_property
    def root(self) -> str:
        """The Merkle root over the entries, in hex."""
        return merkle_root([leaf(entry) for entry in self.entries.values()]).hex()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Record):
            return NotImplemented
        return self.entries == other.entries and self.findings == other.findings

    __hash__ = None  # type: ignore[assignment]


def leaf(entry: Entry) -> bytes:
    """The bytes of an entry that the Merkle tree hashes; no two entries have the same."""
    mode, size = f"{entry.mode:o}", str(entry.size)
    digest, target = entry.sha256 or "", entry.target or ""
    return (
        f"{_length(entry.path)}:{entry.path},{len(entry.kind)}:{entry.kind},{len(mode)}:{mode},"
        f"{len(size)}:{size},{len(digest)}:{digest},{_length(target)}:{target},"
    ).encode("utf-8", "surrogateescape")


def _length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogateescape"))


def merkle_root(leaves: Iterable[bytes]) -> bytes:
    """The root over leaf encodings in the order given."""
    sha256 = hashlib.sha256
    level = [sha256(b"\x00" + encoding).digest() for encoding in leaves]
    if not level:
        return sha256().digest()
    while len(level) > 1:
        # Pairing from the left and carrying an odd last node up gives the same tree as splitting at powers of two.
        paired = [sha256(b"\x01" + level[i] + level[i + 1]).digest() for i in range(0, len(level) - 1, 2)]
        level = paired + level[len(paired) * 2 :]
    return level[0]


def shown(text: str) -> str:
    """Text that came from a workspace as one safe line: control, invisible and undecodable characters escaped."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
