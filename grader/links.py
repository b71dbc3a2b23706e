"""Where a path of a workspace really leads, by the manifest alone: no link is followed on any disk.

The worker sees the workspace at /workspace, so a link may leave it and come back: by an absolute path, by `..`, by the
root directory, by /proc.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..sandbox.tree import Manifest

MAX_HOPS = 40  # the kernel's own limit
MAX_STEPS = 2_000_000
PLACE = "workspace"


class TooTangled(Exception):
    """Names lead through more links or modules than anybody would make in good faith."""


class Links:
    """The symbolic links of a manifest."""

    def __init__(self, manifest: Manifest) -> None:
        self._targets = {path: item.target or "" for path, item in manifest.items() if item.kind == "l"}
        self._steps = MAX_STEPS

    def __iter__(self) -> Iterator[str]:
        """The paths of the links, in canonical order."""
        return iter(self._targets)

    def real(self, path: str) -> str | None:
        """The path below the workspace's root that a path leads to ("" is the root); None if it leads elsewhere.

        TooTangled when all the steps that are granted together are used up.
        """
        done, todo, hops = [PLACE], path.split("/")[::-1], 0
        while todo:
            self._spend(1)
            part = todo.pop()
            if part in ("", "."):
                continue
            if part == "..":
                del done[-1:]
                continue
            done.append(part)
            target = self._targets.get("/".join(done[1:])) if done[0] == PLACE else None
            if target is not None:
                hops += 1
                if hops > MAX_HOPS:
                    return None
                done = [] if target.startswith("/") else done[:-1]
                parts = target.split("/")[::-1]
                self._spend(len(parts))
                todo += parts
        return self._inside(done)

    def real_names(self, name: str) -> Iterator[str]:
        """The names under which the workspace itself knows the module that a dotted name leads to by way of links."""
        if not self._targets:
            return
        stem = name.replace(".", "/")
        above: list[str] = []
        for part in stem.split("/"):
            above.append(f"{above[-1]}/{part}" if above else part)
        for path in (f"{stem}.py", stem, f"{stem}/__init__.py"):
            if path in self._targets or any(folder in self._targets for folder in above):
                real = self.real(path)
                if real is not None and real != path:
                    yield real.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    def _inside(self, parts: list[str]) -> str | None:
        # /proc/self/root and its like lead back to where only a running system could tell.
        if parts[:1] == ["proc"] and PLACE in parts:
            parts = parts[parts.index(PLACE) :]
        return "/".join(parts[1:]) if parts[:1] == [PLACE] else None

    def _spend(self, steps: int) -> None:
        self._steps -= steps
        if self._steps < 0:
            raise TooTangled
