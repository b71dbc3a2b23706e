"""The module boundaries of a task, from the wiring.yaml that its agents read, too."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .schema import WiringForm
from .yamlfile import Source, read_yaml


@dataclass(frozen=True, slots=True)
class Boundary:
    """`package` may not import any of `may_not_import`, in any form, type-only imports included.

    `rule` is where it stands in wiring.yaml (`boundaries[0]` or `layers`).
    """

    package: str
    may_not_import: tuple[str, ...]
    why: str
    rule: str


@dataclass(frozen=True, slots=True)
class Wiring:
    """The packages of a code base, guarded one and all, and the boundaries between them."""

    packages: tuple[str, ...]
    boundaries: tuple[Boundary, ...]

    def forbidden(self, package: str) -> frozenset[str]:
        """Everything that a package may not import."""
        return frozenset(name for rule in self.boundaries if rule.package == package for name in rule.may_not_import)


def load_wiring(path: Path, name: str) -> Wiring:
    """The wiring of a workspace; InputError if it names a package that it does not list."""
    form, source = read_yaml(path, WiringForm, name)
    packages = tuple(form.packages)
    for index, rule in enumerate(form.boundaries):
        for where, package in [("package", rule.package), *(("may_not_import", one) for one in rule.may_not_import)]:
            if package not in packages:
                raise source.error(("boundaries", index, where), f"{package} is not among the packages")
        if rule.package in rule.may_not_import:
            raise source.error(("boundaries", index), f"{rule.package} cannot be kept from importing itself")
    explicit = tuple(
        Boundary(rule.package, tuple(rule.may_not_import), rule.why, f"boundaries[{index}]")
        for index, rule in enumerate(form.boundaries)
    )
    return Wiring(packages, explicit + _layered(form, source, explicit))


def _layered(form: WiringForm, source: Source, explicit: tuple[Boundary, ...]) -> tuple[Boundary, ...]:
    placed = [package for layer in form.layers for package in layer]
    for index, layer in enumerate(form.layers):
        for package in layer:
            if package not in form.packages:
                raise source.error(("layers", index), f"{package} is not among the packages")
            if placed.count(package) > 1:
                raise source.error(("layers", index), f"{package} stands in two places")
    found = []
    above: list[str] = []
    for layer in form.layers:
        above = [*above, *layer]
        for package in layer:
            said = {name for rule in explicit if rule.package == package for name in rule.may_not_import}
            rest = tuple(name for name in above if name != package and name not in said)
            if rest:
                found.append(Boundary(package, rest, "a package imports only from the layers below its own", "layers"))
    return tuple(found)
