"""The rules of the house that a machine can hold."""

from __future__ import annotations

import ast
import graphlib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("cli", "trials", "grader", "poison", "repos", "tiers", "sandbox")
ALLOWED = {
    "cli": {"trials", "grader", "poison", "repos", "tiers", "sandbox"},
    "trials": {"grader", "poison", "repos", "tiers", "sandbox"},
    "grader": {"tiers", "sandbox"},
    "poison": {"tiers", "sandbox"},
    "repos": {"tiers", "sandbox"},
    "tiers": {"sandbox"},
    "sandbox": set(),
}
TASK_CODE = {"workspace", "checks", "scripted"}


def package_files() -> Iterator[Path]:
    """Every Python file of the package itself, without the code of tasks and agents."""
    yield ROOT / "cli.py"
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            if not TASK_CODE & set(path.relative_to(ROOT).parts):
                yield path


def imported_modules(path: Path, source: bytes) -> Iterator[tuple[str, ...]]:
    """The modules of this package that a file imports, as paths from the root."""
    here = path.relative_to(ROOT).parts[:-1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            if node.level:
                base = here[: len(here) - node.level + 1] if node.level > 1 else here
                module = (*base, *(node.module.split(".") if node.module else ()))
                for alias in node.names:
                    full = (*module, alias.name)
                    yield full if is_module(full) or not module else module
            elif node.module and node.module.split(".")[0] == "takeover":
                yield tuple(node.module.split(".")[1:])
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "takeover":
                    yield tuple(alias.name.split(".")[1:])


def is_module(parts: tuple[str, ...]) -> bool:
    target = ROOT.joinpath(*parts)
    return target.with_suffix(".py").is_file() or (target / "__init__.py").is_file()


def breaches(path: Path, source: bytes) -> list[str]:
    """Imports of a file that go the wrong way through the rooms."""
    room = path.relative_to(ROOT).parts[0].removesuffix(".py")
    return [
        f"{path.relative_to(ROOT)} imports {'.'.join(module)}"
        for module in imported_modules(path, source)
        if module and module[0] in ROOMS and module[0] != room and module[0] not in ALLOWED[room]
    ]


def test_imports_go_one_way() -> None:
    """A room imports only rooms to its right."""
    assert [b for path in package_files() for b in breaches(path, path.read_bytes())] == []


def test_a_wrong_import_is_seen() -> None:
    """The rule above bites: sandbox may not import tiers, nor grader poison."""
    assert breaches(ROOT / "sandbox" / "x.py", b"from ..tiers.task import Task\n")
    assert breaches(ROOT / "grader" / "x.py", b"def f():\n    from .. import poison\n")
    assert not breaches(ROOT / "grader" / "x.py", b"from ..tiers.task import Task\n")


def test_there_are_no_import_circles() -> None:
    """The modules can be put in an order in which each needs only earlier ones."""
    graph = {}
    for path in package_files():
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = parts[:-1] if parts[-1] == "__init__" else parts
        graph[name] = {module for module in imported_modules(path, path.read_bytes()) if module != name}

    assert list(graphlib.TopologicalSorter(graph).static_order())


@pytest.mark.parametrize("path", list(package_files()), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_module_catches_everything(path: Path) -> None:
    """`except Exception` stands at the one boundary that records a trial's failure, and nowhere else."""
    if path == ROOT / "trials" / "trial.py":
        return
    broad = [
        node.lineno
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or (isinstance(node.type, ast.Name) and node.type.id in ("Exception", "BaseException")))
        and not any(isinstance(child, ast.Raise) and child.exc is None for child in ast.walk(node))
    ]
    assert broad == []
