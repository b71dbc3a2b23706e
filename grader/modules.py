"""The modules of a workspace by name, and where a name that one imports from another really comes from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from ..sandbox.children import ChildLimits, Died, ask
from .links import Links, TooTangled
from .text import one_line

_TASK = Path(__file__).with_name("parsing.py")
_LIMITS = ChildLimits(cpu_seconds=5.0, memory=1 << 30, output=64 << 20)
MAX_HOPS = 200
MAX_STEPS = 300_000
# A dotted name may be put together from many lines; what stands first decides where it leads.
MAX_NAME = 1000
MAX_ROWS = 500_000


class Facts(BaseModel):
    """The answer of parsing.py about one source; its docstring says what the columns are."""

    model_config = ConfigDict(extra="forbid", strict=True)

    imports: list[tuple[int, int, str, str, str]] = []
    named: list[tuple[int, str, str]] = []
    chains: list[tuple[int, str]] = []
    aliases: list[tuple[str, str]] = []
    dynamic: list[tuple[int, str]] = []
    dropped: int = 0
    error: str | None = None

    @property
    def rows(self) -> int:
        """How much there is to remember."""
        imports = len(self.imports) + len(self.named) + len(self.dynamic)
        return imports + len(self.chains) + len(self.aliases)


@dataclass(frozen=True)
class Unread:
    """A source that could not be read; `died` if it broke the reader and not only its grammar."""

    path: str
    reason: str
    died: bool


@dataclass(frozen=True)
class Module:
    """One module: its name, the package that its relative imports start from, its file and what stands in it."""

    name: str
    package: str
    path: str
    facts: Facts


def module_name(path: str) -> str | None:
    """The name under which a file is imported from the workspace's root; None if it cannot be."""
    parts = path.removesuffix(".py").split("/")
    if parts[-1] == "__init__":
        parts.pop()
    return ".".join(parts) if parts and all(part.isidentifier() for part in parts) else None


def read_sources(sources: Mapping[str, bytes]) -> tuple[dict[str, Facts], list[Unread]]:
    """The facts of each source by path. Sources are parsed in a process of their own; whatever that meets is told."""
    found: dict[str, Facts] = {}
    unread: list[Unread] = []
    left = MAX_ROWS
    for path, answer in zip(sources, ask(_TASK, list(sources.values()), limits=_LIMITS), strict=True):
        if isinstance(answer, Died):
            unread.append(Unread(path, answer.reason, True))
            continue
        try:
            facts = Facts.model_validate_json(answer)
        except ValidationError:
            unread.append(Unread(path, "its reader answered nonsense", True))
            continue
        left -= facts.rows
        if facts.error is not None:
            unread.append(Unread(path, one_line(facts.error), False))
        elif left < 0:
            unread.append(Unread(path, "the sources before it hold too much to be remembered", True))
        else:
            found[path] = facts
    return found, unread


class Modules:
    """All modules of a workspace, with names resolved through them."""

    def __init__(self, facts: Mapping[str, Facts], links: Links) -> None:
        self.links = links
        self.by_name: dict[str, Module] = {}
        for path, one in facts.items():
            name = module_name(path)
            if name is not None:
                package = name if path.endswith("__init__.py") else name.rpartition(".")[0]
                self.by_name[name] = Module(name, package, path, one)
        self._packages = {name.rpartition(".")[0] for name in self.by_name} | set(self.by_name)
        self._bindings: dict[str, dict[str, str]] = {}
        self._stars: dict[str, list[str]] = {}
        self._steps = MAX_STEPS

    def spend(self) -> None:
        """Counts one step of following names; TooTangled when all that are granted are used up."""
        self._steps -= 1
        if self._steps < 0:
            raise TooTangled

    def absolute(self, module: Module, level: int, name: str) -> str:
        """The full name of what an import statement in a module names."""
        if not level:
            return name
        above = module.package.split(".")
        return ".".join([*above[: len(above) - level + 1], *([name] if name else [])])

    def origin(self, name: str) -> str:
        """Where a dotted name leads: the module that defines its last part, or the name itself when unknown."""
        return self._origin(name, set())

    def passes(self, name: str) -> Iterable[str]:
        """Every module on the way of a dotted name: each prefix, and where it leads, by names and by links."""
        parts = name[:MAX_NAME].split(".")
        for count in range(1, len(parts) + 1):
            prefix = ".".join(parts[:count])
            for step in (prefix, self.origin(prefix)):
                yield step
                for real in self.links.real_names(step):
                    yield real
                    yield self.origin(real)

    def binding(self, module: Module, name: str) -> str | None:
        """The dotted name that a top-level name of a module stands for, if it came from elsewhere."""
        if module.name not in self._bindings:
            self._bindings[module.name], self._stars[module.name] = self._bound(module)
        return self._bindings[module.name].get(name)

    def _origin(self, name: str, seen: set[str]) -> str:
        self.spend()
        name = name[:MAX_NAME]
        owner, _, last = name.rpartition(".")
        if name in seen or len(seen) > MAX_HOPS or not owner or name in self._packages:
            return name
        seen.add(name)
        owner = self._origin(owner, seen)
        full = f"{owner}.{last}"
        module = self.by_name.get(owner)
        if module is None or full in self._packages:
            return full
        target = self.binding(module, last)
        if target is not None and target != full:
            return self._origin(target, seen)
        for star in self._stars[module.name]:
            led = self._origin(f"{star}.{last}", seen)
            if led != f"{star}.{last}" or star not in self.by_name:
                return led
        return full

    def _bound(self, module: Module) -> tuple[dict[str, str], list[str]]:
        bound: dict[str, str] = {}
        stars: list[str] = []
        for _, level, source, name, as_name in module.facts.imports:
            full = self.absolute(module, level, source)
            if name == "*":
                stars.append(full)
            elif name:
                bound[as_name] = f"{full}.{name}"
            else:
                bound[as_name] = source if as_name != source.partition(".")[0] else as_name
        for as_name, dotted in module.facts.aliases:
            head, _, rest = dotted.partition(".")
            if head in bound:
                bound[as_name] = f"{bound[head]}.{rest}"[:MAX_NAME] if rest else bound[head]
        return bound, stars
