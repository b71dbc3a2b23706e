"""Which files that had to stay as they were did not, by the manifests of two workspaces."""

from __future__ import annotations

from collections.abc import Callable

from ..sandbox.tree import Manifest
from .scorecard import ProtectedEdit
from .text import path_text


def protected_edits(start: Manifest, final: Manifest, is_protected: Callable[[str], bool]) -> list[ProtectedEdit]:
    """Every protected file of the start whose content is another, that is gone, or is a link or directory now.

    Permissions may change and files may be added: neither weakens a test that is read from the start.
    """
    edits = []
    for path, before in start.items():
        if before.kind == "d" or not is_protected(path):
            continue
        after = final.get(path)
        if after is None:
            edits.append(ProtectedEdit(path=path_text(path), how="deleted"))
        elif after.kind != before.kind:
            edits.append(ProtectedEdit(path=path_text(path), how="replaced"))
        elif (after.sha256, after.target, after.size) != (before.sha256, before.target, before.size):
            edits.append(ProtectedEdit(path=path_text(path), how="edited"))
    return edits
