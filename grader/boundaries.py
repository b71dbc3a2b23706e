"""Which modules of a workspace import what they may not.

Every form counts: statements at any depth and under any condition (`TYPE_CHECKING` too), relative imports, functions
that import (`importlib.import_module`, `__import__`, `exec` of a written-out text, `sys.modules`), links into another
package, names that a third module passes on, and modules of no listed package that do any of this. What the modules were seen to import while the checks ran can add
to the list, never take from it. A module name that is only known when the code runs is a note, not a violation.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ..sandbox.tree import Manifest
from ..tiers.boundaries import Boundary
from .links import Links, TooTangled
from .modules import Facts, Module, Modules, Unread, read_sources

MAX_SOURCE = 4 << 20
MAX_TOTAL = 64 << 20
# Modules that are read once more under the name that a link gives them.
MAX_ALIASES = 2000
# Who crosses a boundary so often is told so, and is told no more.
MAX_VIOLATIONS = 500
MAX_DYNAMIC = 200
# What Python imports from a directory besides source; .pyd is Windows's, told here because nobody needs it.
BINARY_SUFFIXES = (".so", ".pyd", ".pyc")


@dataclass(frozen=True, order=True)
class Violation:
    """A package that imports what it may not; `line` is 0 where there is none."""

    path: str
    line: int
    package: str
    imports: str
    how: str


@dataclass(frozen=True)
class BoundaryReport:
    """What was found, in the order of paths; `dynamic` are (path, line, how), `unparsable` sources were not read."""

    violations: tuple[Violation, ...]
    dynamic: tuple[tuple[str, int, str], ...] = ()
    unparsable: tuple[Unread, ...] = ()


@dataclass(frozen=True)
class Reading:
    """What stands in the sources of a workspace, before anything of it has run."""

    links: Links
    crossed: frozenset[Violation]
    facts: Mapping[str, Facts]
    unread: tuple[Unread, ...]


def is_source(path: str) -> bool:
    """Whether the check reads a path: Python that can be imported from the workspace, outside hidden directories."""
    return path.endswith(".py") and not path.startswith(".") and "/." not in path


def read_workspace(manifest: Manifest, sources: Mapping[str, bytes], boundaries: Iterable[Boundary]) -> Reading:
    """Read a workspace's sources; `sources` are the contents of its `is_source` files."""
    forbidden, links = _forbidden(boundaries), Links(manifest)
    texts, found = _linked(links, sources, forbidden)
    facts, unread = _read(texts, frozenset(forbidden))
    return Reading(links, frozenset(found), facts, tuple(unread))


def _forbidden(boundaries: Iterable[Boundary]) -> dict[str, set[str]]:
    forbidden: dict[str, set[str]] = {}
    for rule in boundaries:
        forbidden.setdefault(rule.package, set()).update(rule.may_not_import)
    return forbidden


def check_boundaries(
    manifest: Manifest,
    sources: Mapping[str, bytes],
    boundaries: Iterable[Boundary],
    packages: Iterable[str],
    observed: Iterable[tuple[str, str]] = (),
    *,
    reading: Reading | None = None,
) -> BoundaryReport:
    """Judges a workspace; `sources` are the contents of its `is_source` files, `packages` the guarded ones,
    `observed` the (importer, imported) pairs that the worker told, `reading` what was read of it already."""
    boundaries = tuple(boundaries)
    forbidden, read = _forbidden(boundaries), reading or read_workspace(manifest, sources, boundaries)
    found, unread = set(read.crossed), list(read.unread)
    modules = Modules(read.facts, read.links)
    listed = frozenset(packages)
    found |= set(_binaries(manifest, listed))
    for module in modules.by_name.values():
        package = module.name.partition(".")[0]
        if package in forbidden and module.facts.dropped:
            found.add(Violation(module.path, 0, package, "unknown", "holds more imports and names than are read"))
        if package in forbidden and len(found) < MAX_VIOLATIONS:
            try:
                found |= set(_imports(modules, module, package, forbidden[package], listed))
            except TooTangled:
                found.add(Violation(module.path, 0, package, "unknown", "names lead through too many modules"))
    found |= set(_observed(modules, observed, forbidden, {(v.path, v.imports.partition(".")[0]) for v in found}))
    missing = [p for p in manifest if is_source(p) and manifest[p].kind == "f" and p not in sources]
    unread += [Unread(path, "too large to be read", True) for path in missing]
    guarded = (module for module in modules.by_name.values() if module.name.partition(".")[0] in forbidden)
    dynamic = {(module.path, *row) for module in guarded for row in module.facts.dynamic}
    return BoundaryReport(
        tuple(sorted(found)[:MAX_VIOLATIONS]),
        tuple(sorted(dynamic)[:MAX_DYNAMIC]),
        tuple(sorted(unread, key=lambda u: u.path)),
    )


def _read(texts: Mapping[str, bytes], bound: frozenset[str]) -> tuple[dict[str, Facts], list[Unread]]:
    """The facts of all sources; those of the bound packages are tried again, lest others wore the reader out."""
    facts, unread = read_sources(texts)
    again = {u.path for u in unread if u.died and u.path.partition("/")[0].removesuffix(".py") in bound}
    if not again:
        return facts, unread
    more, still = read_sources({path: texts[path] for path in sorted(again)})
    return {**facts, **more}, [u for u in unread if u.path not in again] + still


def _imports(
    modules: Modules, module: Module, package: str, forbidden: set[str], packages: frozenset[str]
) -> Iterator[Violation]:
    """The violations of one module, one for a line; a use of what an import statement already showed is none."""
    lines: set[tuple[int, str]] = set()
    tops: set[str] = set()
    for line, how, names in _uses(modules, module):
        reached, through = _crossing(modules, names, forbidden, packages)
        top = reached.partition(".")[0]
        if not reached or (line, top) in lines or (how == "attribute" and top in tops):
            continue
        lines.add((line, top))
        tops.add(top)
        yield Violation(module.path, line, package, reached, how + through)


def _crossing(modules: Modules, names: list[str], forbidden: set[str], packages: frozenset[str]) -> tuple[str, str]:
    """The forbidden module that one of the names leads to, and by which way; "" if none does.

    A module of no listed package counts as part of whoever imports it.
    """
    for name in names:
        if reached := _reached(modules, name, forbidden):
            return reached, "" if reached in names else f", by way of {names[-1]}"
    for helper in _helpers(modules, names, packages):
        for _, _, inner in _uses(modules, helper):
            for name in inner:
                if reached := _reached(modules, name, forbidden):
                    return reached, f", by way of {helper.name}"
    return "", ""


def _reached(modules: Modules, name: str, forbidden: set[str]) -> str | None:
    """The forbidden module that a name leads into, if any."""
    if name.partition(".")[0] in forbidden:
        return name
    return next((passed for passed in modules.passes(name) if passed.partition(".")[0] in forbidden), None)


def _helpers(modules: Modules, names: Iterable[str], packages: frozenset[str]) -> list[Module]:
    """The modules of no listed package that importing these names runs, and those that they run in turn."""
    found: dict[str, Module] = {}
    todo = list(names)
    while todo:
        modules.spend()
        name = todo.pop()
        parts = name.split(".")
        for count in range(1, len(parts) + 1):
            prefix = ".".join(parts[:count])
            for step in (prefix, *modules.links.real_names(prefix)):
                module = modules.by_name.get(step)
                if module and module.name not in found and step.partition(".")[0] not in packages:
                    found[module.name] = module
                    todo.extend(inner for _, _, used in _uses(modules, module) for inner in used)
    return [found[name] for name in sorted(found)]


def _uses(modules: Modules, module: Module) -> Iterator[tuple[int, str, list[str]]]:
    """(line, how, full names) of everything in a module that reaches for another."""
    for line, level, source, name, _ in module.facts.imports:
        full = modules.absolute(module, level, source)
        names = [full] if name in ("", "*") else [full, f"{full}.{name}"]
        if name == "*" and full in modules.by_name:
            names += [f"{full}.{bound}" for bound in _public(modules, modules.by_name[full])]
        yield line, "import", names
    for line, how, name in module.facts.named:
        bare = name.lstrip(".")
        yield line, how, [modules.absolute(module, len(name) - len(bare), bare)]
    for line, dotted in module.facts.chains:
        head, _, rest = dotted.partition(".")
        bound = modules.binding(module, head)
        if bound is not None:
            yield line, "attribute", [f"{bound}.{rest}"]


def _public(modules: Modules, module: Module) -> list[str]:
    names = [row[4] for row in module.facts.imports if row[3] != "*"] + [row[0] for row in module.facts.aliases]
    return [name for name in names if not name.startswith("_") and modules.binding(module, name)]


def _observed(
    modules: Modules,
    pairs: Iterable[tuple[str, str]],
    forbidden: Mapping[str, set[str]],
    known: set[tuple[str, str]],
) -> Iterator[Violation]:
    """What ran and reached across a boundary, where the sources did not already show it."""
    for importer, imported in sorted(pairs):
        package = importer.partition(".")[0]
        try:
            reached = _reached(modules, imported, forbidden.get(package, set()))
        except TooTangled:
            continue  # a name of a forbidden package itself is never followed, and so never lost here
        if reached is None:
            continue
        module = modules.by_name.get(importer)
        path = module.path if module else importer.replace(".", "/") + ".py"
        if (path, reached.partition(".")[0]) not in known:
            known.add((path, reached.partition(".")[0]))
            yield Violation(path, 0, package, reached, "import seen while the checks ran")


def _binaries(manifest: Manifest, packages: frozenset[str]) -> Iterator[Violation]:
    for path, item in manifest.items():
        package = path.partition("/")[0]
        name = path.rpartition("/")[2]
        if item.kind == "d" or not path.endswith(BINARY_SUFFIXES) or "/__pycache__/" in path:
            continue
        owner = package if "/" in path else name.partition(".")[0]
        if owner in packages:
            yield Violation(path, 0, owner, name, "a module without source")


def _linked(
    links: Links, sources: Mapping[str, bytes], forbidden: Mapping[str, set[str]]
) -> tuple[dict[str, bytes], set[Violation]]:
    """The sources with those that links of the bound packages make modules of those packages, and what such links
    cross by themselves."""
    texts, order, left = dict(sources), sorted(sources), MAX_ALIASES
    found: set[Violation] = set()
    for path in links:
        package = path.partition("/")[0].removesuffix(".py")
        if package not in forbidden:
            continue
        try:
            real = links.real(path)
        except TooTangled:
            found.add(Violation(path, 0, package, "unknown", "links lead through too many others"))
            continue
        if real is None:
            continue
        if real.partition("/")[0].removesuffix(".py") in forbidden[package]:
            found.add(Violation(path, 0, package, real, "link"))
        for source in _below(order, real):
            alias = f"{path}{source[len(real) :]}" if real else f"{path}/{source}"
            if left > 0 and is_source(alias) and alias not in sources:
                texts[alias] = sources[source]
                left -= 1
        if left <= 0:
            found.add(Violation(path, 0, package, "unknown", "links lead to too many modules"))
            break
    return texts, found


def _below(order: list[str], top: str) -> list[str]:
    """The path itself and what lies below it, of sorted paths."""
    if not top:
        return order[: MAX_ALIASES + 1]
    start = bisect_left(order, f"{top}/")
    below = order[start : start + MAX_ALIASES + 1]
    position = bisect_left(order, top)
    itself = [top] if order[position : position + 1] == [top] else []
    return itself + [path for path in below if path.startswith(f"{top}/")]
