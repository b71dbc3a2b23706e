"""Which toolkit this is, to the byte: a version says little while it is worked on."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("grader", "poison", "repos", "sandbox", "tiers", "trials")
SOURCES = (".py", ".yaml", ".j2")


@cache
def toolkit_sha256(root: Path = ROOT) -> str:
    """A hash over the package's own sources, the same from a clone and from what is installed; read once per process."""
    found = [path for room in ROOMS for path in (root / room).rglob("*") if path.suffix in SOURCES]
    digest = hashlib.sha256()
    for name, path in sorted((path.relative_to(root).as_posix(), path) for path in [*root.glob("*.py"), *found]):
        data = path.read_bytes()
        digest.update(f"{name}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()
