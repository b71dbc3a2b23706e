"""The app map: what a Python tree consists of, read from its syntax trees and from nothing else.

The same files give the same map, whatever the machine and however many processes read them; how a file is
formatted shows only in its SHA-256. Files that do not parse are in the map with the reason.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from .appmap_facts import MAX_SOURCE, Facts, Member, Symbol, gather
from .appmap_names import ModuleIndex
from .appmap_tags import is_test, tags
from .children import ChildLimits
from .gate_walk import Caps, Selection, walk
from .tree import canonical_key

SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules", "site-packages"})


@dataclass(frozen=True, slots=True)
class Module:
    """One source. `imports` and `imported_by` are paths within the tree, `outside` top-level names beyond it."""

    path: str
    name: str
    sha256: str
    facts: Facts
    imports: tuple[str, ...]
    outside: tuple[str, ...]
    imported_by: tuple[str, ...]
    rule: str | None
    tags: tuple[str, ...]

    @property
    def purpose(self) -> str:
        """The first line of its docstring."""
        return self.facts.purpose

    @property
    def error(self) -> str | None:
        """Why it could not be read as Python, if so."""
        return self.facts.error

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """Its public classes and functions."""
        return tuple(Symbol(k, name, s, tuple(map(Member._make, rows))) for k, name, s, rows in self.facts.symbols)

    @property
    def surface(self) -> int:
        """How many public classes, functions and methods it has."""
        return sum(1 + len(members) for *_, members in self.facts.symbols)


@dataclass(frozen=True, slots=True)
class Unread:
    """Something in the place of a source that was not read: a link, a FIFO, too large, no permission."""

    path: str
    reason: str


@dataclass(frozen=True)
class AppMap:
    """Modules by path in canonical order, and what could not be read."""

    modules: Mapping[str, Module]
    unread: tuple[Unread, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    """Dotted name by path, of the whole tree also where `modules` is a part of it."""

    @property
    def by_relevance(self) -> tuple[Module, ...]:
        """Most relevant first: tests last; then by importers, by public surface, by path."""
        return tuple(
            sorted(
                self.modules.values(),
                key=lambda m: (is_test(m.path), -len(m.imported_by), -m.surface, canonical_key(m.path)),
            )
        )

    def name(self, path: str) -> str:
        """The dotted name of a module of the tree."""
        return self.names.get(path, path)

    def only(self, package: str) -> AppMap:
        """The part of the map below one package (dotted name) or folder (path)."""
        dotted, folder = package.strip("/").replace("/", "."), package.strip("/").replace(".", "/")

        def inside(path: str, name: str) -> bool:
            return name == dotted or name.startswith(dotted + ".") or path.startswith((folder + "/", package + "/"))

        return AppMap(
            MappingProxyType({path: m for path, m in self.modules.items() if inside(path, m.name)}),
            tuple(unread for unread in self.unread if inside(unread.path, "")),
            self.names,
        )


def build_map(
    source: Mapping[str, bytes] | Path,
    *,
    rules: Mapping[str, str] | None = None,
    cache: Path | None = None,
    workers: int | None = None,
    limits: ChildLimits | None = None,
) -> AppMap:
    """The map of some files, or of a folder (treated as hostile).

    `rules`: boundary rule by package (dotted), as `wiring.yaml` has it. `cache`: a file that keeps facts by hash.
    """
    files, unread = _read_folder(source) if isinstance(source, Path) else _given(source)
    digests = {path: hashlib.sha256(data).hexdigest() for path, data in files.items()}
    small = {digests[path]: data for path, data in files.items() if len(data) <= MAX_SOURCE}
    facts = gather(small, cache=cache, workers=workers, limits=limits)
    large = Facts(error=f"larger than {MAX_SOURCE >> 20} MiB: not parsed")
    index = ModuleIndex(files)
    found = {path: (digest, facts.get(digest, large)) for path, digest in digests.items()}
    return AppMap(_link(found, index, rules or {}), unread, MappingProxyType(index.names))


def _given(source: Mapping[str, bytes]) -> tuple[dict[str, bytes], tuple[Unread, ...]]:
    paths = [path for path in source if path.endswith(".py") and all(map(_is_entered, path.split("/")[:-1]))]
    return {path: source[path] for path in sorted(paths, key=canonical_key)}, ()


def _read_folder(root: Path) -> tuple[dict[str, bytes], tuple[Unread, ...]]:
    seen = walk(
        root,
        Selection(enter=_is_entered, record=_is_source, keep=_is_source),
        Caps(file_bytes=4 * MAX_SOURCE, bytes=512 << 20),
    )
    unread = {f.path: f.detail for f in seen.findings if f.incomplete}
    for entry in seen.entries:
        if entry.path.endswith(".py") and entry.kind != "file":
            unread[entry.path] = f"a {entry.kind}" + (f" to {entry.target}" if entry.target else "")
    ordered = sorted(unread, key=canonical_key)
    return dict(seen.contents), tuple(Unread(path, unread[path]) for path in ordered)


def _is_entered(path: str) -> bool:
    name = path.rpartition("/")[2]
    return not name.startswith(".") and name not in SKIPPED_FOLDERS


def _is_source(path: str) -> bool:
    return path.endswith(".py")


def _link(
    sources: Mapping[str, tuple[str, Facts]], index: ModuleIndex, rules: Mapping[str, str]
) -> Mapping[str, Module]:
    inside: dict[str, set[str]] = {}
    outside: dict[str, set[str]] = {}
    importers: dict[str, list[str]] = {path: [] for path in sources}
    for path, (_, facts) in sources.items():
        found = [index.resolve(path, level, module, name) for level, module, name in facts.imports]
        inside[path] = {target for target, _ in found if target} - {path}
        outside[path] = {foreign for _, foreign in found if foreign} - {"__future__"}
        for target in inside[path]:
            importers[target].append(path)
    modules = {
        path: Module(
            path,
            index.names[path],
            digest,
            facts,
            imports=tuple(sorted(inside[path], key=canonical_key)),
            outside=tuple(sorted(outside[path])),
            imported_by=tuple(importers[path]),
            rule=_rule(index.names[path], path, rules),
            tags=tags(path, facts, outside[path]),
        )
        for path, (digest, facts) in sources.items()
    }
    return MappingProxyType(modules)


def _rule(name: str, path: str, rules: Mapping[str, str]) -> str | None:
    """The rule of the nearest package above a module, or of the module itself."""
    from_root = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    for dotted in (name, from_root):
        while dotted:
            if dotted in rules:
                return rules[dotted]
            dotted = dotted.rpartition(".")[0]
    return None
