"""Module boundaries: every form of a forbidden import is seen, and nothing else is."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import pytest

from takeover.grader.boundaries import check_boundaries, is_source
from takeover.sandbox.tree import Manifest, TreeItem
from takeover.tiers.boundaries import Boundary

RULES = (Boundary("rbac", ("audit",), "why", "boundaries[0]"), Boundary("ledger", ("audit",), "why", "layers"))
PACKAGES = ("rbac", "audit", "ledger", "billing")
BASE = {
    "rbac/__init__.py": "",
    "rbac/rules.py": "RANKS = {}\n",
    "audit/__init__.py": "",
    "audit/trail.py": "def mask(x): return x\nfrom ledger import rules\n",
    "ledger/__init__.py": "",
    "ledger/rules.py": "X = 1\n",
    "billing/__init__.py": "",
    "billing/tax.py": "from audit.trail import mask\nimport audit.trail\n",
}


def manifest(files: Mapping[str, str | bytes], links: Mapping[str, str] = {}) -> Manifest:
    items = {}
    for path, content in files.items():
        data = content.encode() if isinstance(content, str) else content
        items[path] = TreeItem(path, "f", 0o644, len(data), hashlib.sha256(data).hexdigest())
    for path, target in links.items():
        items[path] = TreeItem(path, "l", 0o777, target=target)
    return Manifest(items)


def report(files: Mapping[str, str | bytes] = {}, links: Mapping[str, str] = {}, observed: object = ()):
    whole = {**BASE, **files}
    sources = {p: c.encode() if isinstance(c, str) else c for p, c in whole.items() if is_source(p)}
    return check_boundaries(manifest(whole, links), sources, RULES, PACKAGES, observed)  # type: ignore[arg-type]


# Contents of rbac/rules.py that import audit, with the line on which they do.
FORBIDDEN = {
    "a statement": ("import audit.trail\n", 1),
    "a statement under another name": ("import audit.trail as t\n", 1),
    "from the package": ("\nfrom audit import trail\n", 2),
    "from the module": ("from audit.trail import mask\n", 1),
    "everything of it": ("from audit.trail import *\n", 1),
    "one of several": ("import json, ledger, audit\n", 1),
    "inside a function": ("def f():\n    if 0:\n        from audit import trail\n", 3),
    "inside a class, after a semicolon": ("class A: x = 1; import audit\n", 1),
    "in a try": ("try:\n    import audit\nexcept ImportError:\n    pass\n", 2),
    "for types only": ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import audit\n", 3),
    "relative, above the package": ("from ..audit import trail\n", 1),
    "import_module": ("import importlib\nimportlib.import_module('audit.trail')\n", 2),
    "import_module with a keyword": ("import importlib\nimportlib.import_module(name='audit')\n", 2),
    "import_module under another name": ("from importlib import import_module\nimport_module('audit')\n", 2),
    "__import__": ("t = __import__('audit.trail')\n", 1),
    "__import__ of a sum": ("t = __import__('au' + 'dit')\n", 1),
    "__import__ of a constant": ("N = 'audit'\nt = __import__(N)\n", 2),
    "__import__ of a join": ("t = __import__(''.join(['au', 'dit']))\n", 1),
    "__import__ of an f-string": ("N = 'au'\nt = __import__(f'{N}dit')\n", 2),
    "builtins.__import__": ("import builtins\nbuiltins.__import__('audit')\n", 2),
    "exec": ("exec('from audit import trail')\n", 1),
    "exec in exec": ("exec('exec(\"import audit\")')\n", 1),
    "eval": ("eval('__import__(\"audit\")')\n", 1),
    "sys.modules": ("import sys\nt = sys.modules['audit.trail']\n", 2),
    "sys.modules.get": ("import sys\nt = sys.modules.get('audit')\n", 2),
    "runpy": ("import runpy\nrunpy.run_module('audit.trail')\n", 2),
    "pkgutil": ("import pkgutil\npkgutil.resolve_name('audit.trail:mask')\n", 2),
    "a spec of its file": (
        "import importlib.util as u\ns = u.spec_from_file_location('x', 'audit/trail.py')\n",
        2,
    ),
    "a spec of its file in parts": (
        "import importlib.util as u, os\ns = u.spec_from_file_location('x', os.path.join('audit', 'trail.py'))\n",
        2,
    ),
    "runpy.run_path": ("import runpy\nrunpy.run_path('./audit/trail.py')\n", 2),
    "re-exported by a third module": ("from billing.tax import mask\n", 1),
    "re-exported module, by attribute": ("import billing.tax\nbilling.tax.audit.trail.mask(1)\n", 2),
    "re-exported module, by getattr": ("import billing.tax\ngetattr(billing.tax, 'audit')\n", 2),
    "a star of a third module": ("from billing.tax import *\n", 1),
}


@pytest.mark.parametrize("name", FORBIDDEN)
def test_a_forbidden_import_is_seen(name: str) -> None:
    """Whatever its form, and with its file and line."""
    text, line = FORBIDDEN[name]

    found = report({"rbac/rules.py": text}).violations

    assert [(v.path, v.line, v.package, v.imports.split(".")[0]) for v in found] == [
        ("rbac/rules.py", line, "rbac", "audit")
    ]


ALLOWED = {
    "nothing": "",
    "a package that is allowed": "from ledger import rules\nimport ledger.rules as r\nr.X\n",
    "a name that only looks like it": "from ledger.rules import X as audit\naudit\nimport auditing\n",
    "an attribute of the same name": "class A:\n    audit = 1\nA.audit\n",
    "the word in a text": "x = 'import audit'\n'''from audit import trail'''\n",
    "a third package's own function": "from billing.tax import tax\n",
    "a relative module": "from . import audit\nfrom .audit import x\n",
    "compiling a pattern": "import re\nre.compile('import audit')\n",
}


@pytest.mark.parametrize("name", ALLOWED)
def test_an_allowed_import_is_no_violation(name: str) -> None:
    """Honest code is not accused."""
    files = {"rbac/rules.py": ALLOWED[name], "rbac/audit.py": "x = 1\n"}

    assert report(files).violations == ()


def test_a_module_of_no_package_counts_as_its_importer() -> None:
    """A helper at the root that imports audit is no way around the boundary, however deep it goes."""
    files = {
        "rbac/rules.py": "def f():\n    import shim\n    return shim.f()\n",
        "shim.py": "import deeper\ndef f(): return deeper.f()\n",
        "deeper.py": "import audit.trail\ndef f(): return audit.trail.mask(1)\n",
    }

    (violation,) = report(files).violations

    assert (violation.path, violation.line, violation.imports) == ("rbac/rules.py", 2, "audit.trail")
    assert "by way of deeper" in violation.how


@pytest.mark.parametrize(
    ("path", "target"),
    [("rbac/copy.py", "../audit/trail.py"), ("rbac/sub", "../audit"), ("rbac/x.py", "./../rbac/../audit/trail.py")],
)
def test_a_link_into_another_package_is_seen(path: str, target: str) -> None:
    """A symlink runs what it points at, under an innocent name."""
    assert (path, "link") in [(v.path, v.how) for v in report(links={path: target}).violations]


def test_links_are_read_where_they_lead() -> None:
    """A link to a module of no package is read as the module that it becomes."""
    files = {"hidden/x.py": "import audit\n"}

    assert [v.path for v in report(files, {"rbac/x.py": "../hidden/x.py"}).violations] == ["rbac/x.py"]
    assert [v.path for v in report(files, {"rbac/x": "../hidden"}).violations] == ["rbac/x/x.py"]
    assert report(links={"rbac/x.py": "/etc/passwd", "rbac/y": "../..", "rbac/z.py": "z.py"}).violations == ()


@pytest.mark.parametrize("name", ["fast.so", "fast.cpython-311-x86_64-linux-gnu.so", "fast.pyc", "sub/fast.pyd"])
def test_a_module_without_source_is_a_violation(name: str) -> None:
    """What can be imported and cannot be read is not accepted in a guarded package."""
    assert [v.path for v in report({f"rbac/{name}": b"\x7fELF"}).violations] == [f"rbac/{name}"]
    assert [v.path for v in report({"rbac.so": b"\x7fELF"}).violations] == ["rbac.so"]
    assert report({f"scripts/{name}": b"\x7fELF"}).violations == ()
    assert report({"rbac/__pycache__/rules.cpython-311.pyc": b"x"}).violations == ()


BOMBS = {
    "null bytes": b"x = '\0'",
    "bad utf-8": b"x = '\xff'",
    "unknown encoding": b"# coding: no-such\nx = 1",
    "deep nesting": b"x = " + b"(" * 5000 + b")" * 5000,
    "deep addition": b"x = " + b"1 + " * 200_000 + b"1",
    "deep blocks": b"\n".join(b" " * i + b"if 1:" for i in range(150)),
    "unary chain": b"x = " + b"-" * 1_000_000 + b"1",
    "half a file": b"def f(:\n",
    "an exec of a bomb": b"exec('" + b"(" * 3000 + b")" * 3000 + b"')",
}


@pytest.mark.parametrize("name", BOMBS)
def test_what_cannot_be_read_is_recorded(name: str) -> None:
    """Odd bytes and parser bombs cost nothing but their own reading; the rest is still judged."""
    found = report({"rbac/bomb.py": BOMBS[name], "rbac/rules.py": "import audit\n"})

    assert [v.path for v in found.violations] == ["rbac/rules.py"]
    assert {u.path for u in found.unparsable} <= {"rbac/bomb.py"}


def test_other_encodings_are_read() -> None:
    """A declared encoding hides nothing."""
    files = {
        "rbac/rules.py": b"# -*- coding: latin-1 -*-\nx = '\xe9'\nimport audit\n",
        "ledger/rules.py": b"\xef\xbb\xbfimport audit\n",
        "rbac/odd.py": b"# coding: utf-7\n+AGkAbQBwAG8AcgB0ACAAYQB1AGQAaQB0-\n",
    }

    assert [(v.path, v.line) for v in report(files).violations] == [
        ("ledger/rules.py", 1),
        ("rbac/odd.py", 2),
        ("rbac/rules.py", 3),
    ]


def test_names_made_at_run_time_are_noted() -> None:
    """What cannot be known from the text is told, without being called a violation."""
    text = "import importlib, sys\nimportlib.import_module(input())\nexec(open('x').read())\nsys.path.append('y')\n"

    found = report({"rbac/rules.py": text, "billing/tax.py": "exec(x)\n"})

    assert found.violations == ()
    assert found.dynamic == (
        ("rbac/rules.py", 2, "import_module"),
        ("rbac/rules.py", 3, "exec"),
        ("rbac/rules.py", 4, "sys.path"),
    )


def test_what_ran_can_only_add() -> None:
    """An import that was seen while the checks ran counts once, and never twice for one file and package."""
    pairs = {("rbac.rules", "audit"), ("rbac.rules", "audit.trail"), ("rbac.gone", "billing.tax.mask"), ("x", "audit")}

    found = report({"rbac/rules.py": "exec(input())\n"}, observed=pairs).violations

    assert [(v.path, v.line, v.imports) for v in found] == [
        ("rbac/gone.py", 0, "audit.trail.mask"),
        ("rbac/rules.py", 0, "audit"),
    ]
    assert len(report({"rbac/rules.py": "import audit\n"}, observed=pairs).violations) == 2


def test_circles_end() -> None:
    """Names that lead in circles lead nowhere."""
    files = {
        "rbac/rules.py": "from billing.a import x\nfrom billing.a import *\nimport billing.a\nbilling.a.x.y\n",
        "billing/a.py": "from billing.b import x\nfrom billing.b import *\nx = x\n",
        "billing/b.py": "from billing.a import x\nfrom billing.a import *\n",
    }

    assert report(files).violations == ()


def test_a_maze_is_a_violation_and_not_a_hang() -> None:
    """Hundreds of modules that all import everything of each other end the search, and so the net score."""
    names = [f"m{n}" for n in range(150)]
    maze = {f"{name}.py": "".join(f"from {other} import *\n" for other in names) for name in names}
    text = "".join(f"from m{n} import name{n}\n" for n in range(150))

    found = report({**maze, "rbac/rules.py": text}).violations

    assert [(v.path, v.imports) for v in found] == [("rbac/rules.py", "unknown")]


def test_many_bombs_elsewhere_hide_nothing() -> None:
    """Sources that kill the reader by the dozen do not keep it from a guarded package."""
    bomb = b"x = " + b"-" * 3_000_000 + b"1"

    found = report({**{f"scripts/bomb{n}.py": bomb for n in range(10)}, "rbac/rules.py": "import audit\n"})

    assert [v.path for v in found.violations] == ["rbac/rules.py"]


def test_is_source() -> None:
    """Hidden directories, a repository's own above all, cannot be imported from."""
    paths = ["a.py", "a/b.py", ".git/x.py", "a/.venv/b.py", "a.pyc", "a.PY", "x.txt"]

    assert [path for path in paths if is_source(path)] == ["a.py", "a/b.py"]
