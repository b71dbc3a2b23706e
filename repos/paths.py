"""Sets of paths as task.yaml writes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..tiers.task import matches


def within(path: str, patterns: Sequence[str]) -> bool:
    """Whether a path fits: a pattern that ends in `/` is everything below it, any other a glob within a folder."""
    globs = tuple(one for one in patterns if not one.endswith("/"))
    return any(path.startswith(one) for one in patterns if one.endswith("/")) or matches(path, globs)


def chosen(paths: Iterable[str], patterns: Sequence[str]) -> tuple[str, ...]:
    """The paths that fit, sorted."""
    return tuple(sorted(path for path in paths if within(path, patterns)))
