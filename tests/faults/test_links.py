"""Checkers that look at text are fooled by links: a module counts as what it is, whatever name leads to it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import pytest

from takeover.grader.boundaries import BoundaryReport, check_boundaries
from takeover.grader.links import Links
from takeover.sandbox.tree import Manifest, TreeItem
from takeover.tiers.boundaries import Boundary

RULES = (Boundary("rbac", ("audit",), "why", "layers"),)
PACKAGES = ("rbac", "audit", "ledger")
BASE = {
    "rbac/__init__.py": "",
    "rbac/rules.py": "",
    "audit/__init__.py": "",
    "audit/trail.py": "def mask(x): return x\n",
    "ledger/__init__.py": "",
    "ledger/book.py": "",
}


def manifest(files: Mapping[str, str], links: Mapping[str, str]) -> Manifest:
    items = {
        path: TreeItem(path, "f", 0o644, len(text), hashlib.sha256(text.encode()).hexdigest())
        for path, text in files.items()
    }
    return Manifest({**items, **{path: TreeItem(path, "l", 0o777, target=target) for path, target in links.items()}})


def report(rules: str = "", links: Mapping[str, str] = {}, more: Mapping[str, str] = {}) -> BoundaryReport:
    files = {**BASE, "rbac/rules.py": rules, **more}
    sources = {path: text.encode() for path, text in files.items()}
    return check_boundaries(manifest(files, links), sources, RULES, PACKAGES)


# What rbac/rules.py says, and the links that give it the forbidden module under another name.
WAYS = {
    "an absolute link": ("", {"rbac/x.py": "/workspace/audit/trail.py"}),
    "an absolute link to a package": ("from .inside import trail\n", {"rbac/inside": "/workspace/audit"}),
    "a link to a link": ("", {"rbac/x.py": "../zz.py", "zz.py": "audit/trail.py"}),
    "out of the workspace and back": ("", {"rbac/x.py": "../../workspace/audit/trail.py"}),
    "by the root of a process": ("", {"rbac/x.py": "/proc/self/root/workspace/audit/trail.py"}),
    "the root directory": ("from .y.workspace.audit import trail\n", {"rbac/y": "/"}),
    "the workspace itself": ("from .back.audit import trail\n", {"rbac/back": ".."}),
    "the workspace, from without": ("import back.audit.trail\n", {"back": "."}),
    "a package of another name": ("import other.trail\n", {"other": "audit"}),
    "a module of another name": ("import other\n", {"other.py": "audit/trail.py"}),
    "the file of a package": ("import other\n", {"other/__init__.py": "../audit/trail.py"}),
    "links on the way": ("from .d.audit import trail\n", {"rbac/d": "../e/f", "e": ".", "f": "."}),
    "by import_module": ("import importlib\nimportlib.import_module('other.trail')\n", {"other": "audit"}),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_link_does_not_hide_a_module(way: str) -> None:
    """By whatever links the forbidden package gets its innocent name, using it is a violation."""
    rules, links = WAYS[way]

    assert any(violation.package == "rbac" for violation in report(rules, links).violations)


def test_a_helper_behind_a_link_counts_as_its_importer() -> None:
    """A module of no package that imports across the boundary is found under the name that a link gives it."""
    found = report("import zz.evil\n", {"zz": "hidden"}, {"hidden/evil.py": "import audit\n"}).violations

    assert [(violation.path, violation.imports) for violation in found] == [("rbac/rules.py", "audit")]


def test_links_that_lead_nowhere_forbidden_cost_nothing() -> None:
    """Out of the workspace, in circles, to nothing, to a package that may be imported."""
    links = {
        "rbac/host.py": "/etc/passwd",
        "rbac/up": "../../..",
        "rbac/loop.py": "loop.py",
        "rbac/a": "b",
        "rbac/b": "a",
        "rbac/gone.py": "nowhere.py",
        "rbac/book.py": "../ledger/book.py",
        "audit/rules.py": "../rbac/rules.py",
    }

    assert report("from . import book, host\nimport ledger.book\n", links).violations == ()


def test_more_imports_than_are_read_are_no_way_past() -> None:
    """A forbidden import behind thousands of harmless ones is read, and behind more than are read it is a violation."""
    hidden = "def f():\n    from audit import trail\n"
    (near,) = report("import os\n" * 6000 + hidden).violations
    (far,) = report("import os\n" * 21_000 + hidden).violations

    assert (near.line, near.imports) == (6002, "audit")
    assert "more imports" in far.how


def test_a_name_with_two_values_is_told_as_unknown() -> None:
    """The text says what is imported only where a name has one value; otherwise it is noted, not taken for harmless."""
    found = report("N = 'audit'\ndef f(): return __import__(N)\nN = 'os'\n")

    assert found.dynamic == (("rbac/rules.py", 2, "__import__"),)


def test_steps_through_links_are_bounded() -> None:
    """Links that cost many steps each end the search; a bound package behind them is no longer vouched for."""
    long = "/".join(["a", ".."] * 900)
    links = {f"rbac/l{number:04}.py": f"{long}/x{number}" for number in range(3000)}
    violations = report(links=links).violations

    assert 0 < len(violations) <= 500
    assert {violation.imports for violation in violations} == {"unknown"}


def test_a_path_is_followed_as_the_kernel_does() -> None:
    """Up from where a link leads, not from where it stands; no further than forty links."""
    chain = {f"c{number}": f"c{number + 1}" for number in range(60)}
    links = Links(manifest({}, {"d": "e/f", "e/f": "../g/h", **chain}))

    assert links.real("d/../x.py") == "g/x.py"
    assert links.real("c0") is None
    assert links.real("c30") == "c60"
    assert links.real("d/../../../workspace/./y") == "y"
