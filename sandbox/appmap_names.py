"""Which module an import statement means, among the files of one tree.

Python looks for a module below the folders of `sys.path`, which a tree does not tell. So each folder that is not
itself a package counts as one of them for the files below it, the nearest first (as the folder of a program is
first on its path), and a folder named `src` counts for everybody.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property


class ModuleIndex:
    """The modules of a tree by path, and what an import in one of them refers to."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths = frozenset(paths)
        self._memo: dict[tuple[str, str], str | None] = {}

    @cached_property
    def names(self) -> dict[str, str]:
        """The dotted name of each path, as its own package says it; spelled from the root where two would share one."""
        short = {path: _dotted(path, self._base(path)) for path in self.paths}
        count: dict[str, int] = {}
        for name in short.values():
            count[name] = count.get(name, 0) + 1
        return {path: name if count[name] == 1 else _dotted(path, "") for path, name in short.items()}

    def resolve(self, path: str, level: int, module: str, name: str) -> tuple[str | None, str]:
        """`(path of the imported module or None, top-level name for what lies outside)`."""
        if level:
            folder = path.rpartition("/")[0]
            for _ in range(level - 1):
                folder = folder.rpartition("/")[0]
            return self._below(folder, module, name), ""
        key = f"{module}.{name}" if name and name != "*" else module
        folder, top = path.rpartition("/")[0], module.partition(".")[0]
        if top not in self._components:
            return None, top
        found = self._absolute(folder, key)
        return found, "" if found or self._is_namespace(folder, top) else top

    def _is_namespace(self, folder: str, name: str) -> bool:
        """Whether an import of `name` finds a folder of the tree that holds modules and has no file of its own."""
        return any((f"{base}/{name}" if base else name) in self._folders for base in _ancestors(folder))

    @cached_property
    def _folders(self) -> frozenset[str]:
        return frozenset(folder for path in self.paths for folder in _ancestors(path.rpartition("/")[0]))

    @cached_property
    def _components(self) -> frozenset[str]:
        """Every name of a folder or module; what is not among them, as most of what is imported, lies outside."""
        return frozenset(part for path in self.paths for part in path.removesuffix(".py").split("/"))

    def _absolute(self, folder: str, module: str) -> str | None:
        if (folder, module) not in self._memo:
            bases = [base for base in _ancestors(folder) if base not in self._packages]
            found = (self._below(base, module, "") for base in (*bases, *self._shared))
            self._memo[folder, module] = next((path for path in found if path), None)
        return self._memo[folder, module]

    def _below(self, folder: str, module: str, name: str) -> str | None:
        """The file of the longest prefix of `module.name` that is a module below `folder`."""
        parts = [part for part in (*module.split("."), name) if part and part != "*"]
        prefix = folder + "/" if folder else ""
        while parts:
            stem = prefix + "/".join(parts)
            for path in (f"{stem}/__init__.py", f"{stem}.py"):
                if path in self.paths:
                    return path
            parts.pop()
        package = f"{prefix}__init__.py"
        return package if module == "" and package in self.paths else None

    @cached_property
    def _packages(self) -> frozenset[str]:
        return frozenset(path.removesuffix("/__init__.py") for path in self.paths if path.endswith("/__init__.py"))

    @cached_property
    def _shared(self) -> tuple[str, ...]:
        return tuple(sorted(folder for folder in self._folders if folder.rpartition("/")[2] == "src"))

    def _base(self, path: str) -> str:
        """The folder that a module's name counts from: above its package, else `src`, else the root."""
        folder = path.rpartition("/")[0]
        if folder not in self._packages:
            return next((above for above in _ancestors(folder) if above.rpartition("/")[2] == "src"), "")
        while folder in self._packages:
            folder = folder.rpartition("/")[0]
        return folder


def _ancestors(folder: str) -> list[str]:
    """The folder itself and those above it, the root ("") last."""
    found = [folder]
    while folder:
        folder = folder.rpartition("/")[0]
        found.append(folder)
    return found


def _dotted(path: str, base: str) -> str:
    below = path[len(base) + 1 :] if base else path
    below = below.removesuffix(".py").removesuffix("/__init__") or "__init__"
    return below.replace("/", ".")
