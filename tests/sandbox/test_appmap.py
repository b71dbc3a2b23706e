"""The app map: what it says of a module, how it finds its way through imports, and that nothing stops it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from takeover.sandbox.appmap import Module, build_map
from takeover.sandbox.appmap_facts import MAX_SOURCE
from takeover.sandbox.appmap_render import render
from takeover.sandbox.children import ChildLimits

BILLING = {
    "billing/__init__.py": b'"""What customers owe."""\nfrom .tax import tax_cents\n',
    "billing/tax.py": b'''"""Tax in whole cents.

More about it.
"""
from __future__ import annotations
import datetime
from decimal import Decimal
from ledger.money import Money, cents

RATE = 7

def tax_cents(amount: int, *rest, rate : "float"=7.50, **options) -> "Money | None":
    """Doc."""
    from rbac import rules
    return amount

async def fetch(a, /, b=None, *, c: dict[str, int] = {"x": 1}): ...

def _hidden(): ...

class Table(dict, metaclass=type):
    """Rates."""
    def __init__(self, rates: list[int]) -> None: ...
    def rate(self, when): ...
    async def load(self): ...
    def _cache(self): ...
    class Inner: ...
''',
    "ledger/money.py": b"from billing import tax\nclass Money: ...\ndef cents(x): ...\n",
    "ledger/__init__.py": b"",
    "rbac/rules.py": b"if True:\n    import audit.log\nelse:\n    from audit import missing\n",
    "rbac/__init__.py": b"",
    "audit/log.py": b"import sys\nif __name__ == '__main__':\n    print(1)\n",
    "tests/test_tax.py": b"from billing.tax import tax_cents\n",
}


def one(source: bytes, path: str = "m.py") -> Module:
    return build_map({path: source}).modules[path]


def test_a_module_in_full() -> None:
    """Purpose, public names with signatures, imports both ways, boundary, tags, hash: all from the source."""
    rules = {"billing": "may not import audit", "billing.tax": "only ledger"}

    module = build_map(BILLING, rules=rules).modules["billing/tax.py"]

    assert module.purpose == "Tax in whole cents."
    assert [f"{s.kind} {s.name}{s.signature}" for s in module.symbols] == [
        "def tax_cents(amount: int, *rest, rate: 'float'=7.5, **options) -> 'Money | None'",
        "async def fetch(a, /, b=None, *, c: dict[str, int]={'x': 1})",
        "class Table(dict, metaclass=type)",
    ]
    assert [f"{m.kind} {m.name}{m.signature}" for m in module.symbols[2].members] == [
        "def __init__(self, rates: list[int]) -> None",
        "def rate(self, when)",
        "async def load(self)",
    ]
    assert module.imports == ("ledger/money.py", "rbac/rules.py")
    assert module.outside == ("datetime", "decimal")
    assert module.imported_by == ("billing/__init__.py", "ledger/money.py", "tests/test_tax.py")
    assert module.rule == "only ledger"
    assert module.tags == ("clock", "exact-numbers")
    assert module.sha256 == hashlib.sha256(BILLING["billing/tax.py"]).hexdigest()
    assert module.name == "billing.tax"


def test_imports_are_found_wherever_they_stand() -> None:
    """Inside functions, conditions, handlers, loops, matches and classes; type-only ones too."""
    source = b"""
import a
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    import b
def f():
    try:
        import c
    except ImportError:
        import d
    finally:
        import e
    with x: import f
    for y in z:
        import g
    else:
        import h
    match x:
        case 1: import i
class K:
    async def m(self):
        while True:
            import j
try: import k
except* E: import l
"""
    module = one(source)

    assert module.outside == (*"abcdefghijkl", "typing")


IMPORTS: dict[str, tuple[dict[str, bytes], str, list[str], list[str]]] = {
    "a submodule by its package": (
        {"a.py": b"from p import m", "p/m.py": b"", "p/__init__.py": b""},
        "a.py",
        ["p/m.py"],
        [],
    ),
    "a name of a package": ({"a.py": b"from p import x", "p/__init__.py": b""}, "a.py", ["p/__init__.py"], []),
    "a name of a module": ({"a.py": b"from p.m import x", "p/m.py": b""}, "a.py", ["p/m.py"], []),
    "a folder without __init__": ({"a.py": b"import p.m", "p/m.py": b""}, "a.py", ["p/m.py"], []),
    "a folder alone": ({"a.py": b"import p", "p/m.py": b""}, "a.py", [], []),
    "an attribute of a module": ({"a.py": b"import b.c.d", "b.py": b""}, "a.py", ["b.py"], []),
    "star": ({"a.py": b"from b import *", "b.py": b""}, "a.py", ["b.py"], []),
    "renamed": ({"a.py": b"import b as c, os.path as d", "b.py": b""}, "a.py", ["b.py"], ["os"]),
    "relative": ({"p/a.py": b"from . import b", "p/b.py": b"", "p/__init__.py": b""}, "p/a.py", ["p/b.py"], []),
    "relative name": ({"p/a.py": b"from . import x", "p/__init__.py": b""}, "p/a.py", ["p/__init__.py"], []),
    "two dots": ({"p/q/a.py": b"from ..b import x", "p/b.py": b""}, "p/q/a.py", ["p/b.py"], []),
    "dots beyond the root": ({"a.py": b"from ....b import x", "b.py": b""}, "a.py", ["b.py"], []),
    "itself": ({"p/__init__.py": b"from p import x"}, "p/__init__.py", [], []),
    "under src": ({"src/p/m.py": b"", "src/p/__init__.py": b"", "t/a.py": b"import p.m"}, "t/a.py", ["src/p/m.py"], []),
    "beside a script": ({"bin/a.py": b"import b", "bin/b.py": b""}, "bin/a.py", ["bin/b.py"], []),
    "not beside, in a package": (
        {"p/a.py": b"import b", "p/b.py": b"", "p/__init__.py": b""},
        "p/a.py",
        [],
        ["b"],
    ),
    "the nearest of two": (
        {"x/t/a.py": b"import u", "x/t/u.py": b"", "u.py": b""},
        "x/t/a.py",
        ["x/t/u.py"],
        [],
    ),
    "a project within a folder": (
        {"lib-1.0/p/__init__.py": b"", "lib-1.0/p/a.py": b"from p.b import x", "lib-1.0/p/b.py": b""},
        "lib-1.0/p/a.py",
        ["lib-1.0/p/b.py"],
        [],
    ),
    "future": ({"a.py": b"from __future__ import annotations"}, "a.py", [], []),
}


@pytest.mark.parametrize(("files", "path", "inside", "outside"), IMPORTS.values(), ids=IMPORTS)
def test_imports_resolve(files: dict[str, bytes], path: str, inside: list[str], outside: list[str]) -> None:
    """An import leads to the file of the tree that Python would load, or out of the tree."""
    module = build_map(files).modules[path]

    assert (list(module.imports), list(module.outside)) == (inside, outside)


NAMES = {
    "p/__init__.py": "p",
    "p/m.py": "p.m",
    "top.py": "top",
    "__init__.py": "__init__",
    "src/q/m.py": "q.m",
    "lib-1.0/r/__init__.py": "r",
    "lib-1.0/r/m.py": "r.m",
    "lib-1.0/setup.py": "lib-1.0.setup",
    "x/s/__init__.py": "x.s",
    "y/s/__init__.py": "y.s",
}


def test_dotted_names() -> None:
    """A module is called as it is imported; two that would share a name are spelled from the root."""
    app = build_map(dict.fromkeys(NAMES, b""))

    assert {path: module.name for path, module in app.modules.items()} == NAMES


PUBLIC: dict[str, tuple[bytes, list[str]]] = {
    "underscores": (b"def a(): ...\ndef _b(): ...\nclass __c: ...\n", ["a"]),
    "__all__ decides": (b"__all__ = ['_b']\ndef a(): ...\ndef _b(): ...\n", ["_b"]),
    "typed __all__": (b"__all__: list[str] = ['b']\ndef a(): ...\ndef b(): ...\n", ["b"]),
    "computed __all__": (b"__all__ = f()\ndef a(): ...\n", ["a"]),
    "under conditions": (
        b"if x:\n def a(): ...\nelse:\n def b(): ...\ntry:\n def c(): ...\nexcept E: ...\n",
        ["a", "b", "c"],
    ),
    "defined twice": (b"def a(x): ...\ndef a(y): ...\n", ["a"]),
    "inside functions": (b"def a():\n def b(): ...\n", ["a"]),
}


@pytest.mark.parametrize(("source", "names"), PUBLIC.values(), ids=PUBLIC)
def test_what_is_public(source: bytes, names: list[str]) -> None:
    """Names without an underscore, or what `__all__` lists; at the top level, conditions included."""
    assert [symbol.name for symbol in one(source).symbols] == names


TAGS = {
    "package": ("p/__init__.py", b"", ("package",)),
    "program": ("m.py", b"if __name__ == '__main__': f()", ("program",)),
    "main module": ("p/__main__.py", b"", ("program",)),
    "test": ("tests/util.py", b"", ("test",)),
    "effects": ("m.py", b"import socket, sqlite3, threading", ("database", "network", "threads")),
    "topics": (
        "rate.py",
        b"def rate_table(): ...\ndef rateOf(): ...\ndef late_fee(): ...\nclass FeeTable: ...\n",
        ("fee", "rate", "table"),
    ),
    "no stop words": ("m.py", b"def get_value(): ...\ndef set_value(): ...\n", ()),
}


@pytest.mark.parametrize(("path", "source", "expected"), TAGS.values(), ids=TAGS)
def test_tags(path: str, source: bytes, expected: tuple[str, ...]) -> None:
    """Roles from path and form, effects from outside imports, topics from the names a module repeats."""
    assert one(source, path).tags == expected


def test_formatting_shows_only_in_the_hash() -> None:
    """Layout, quotes and comments change the SHA-256 of their own module and nothing else anywhere."""
    tidy = b'"""Doc."""\nimport os\n\n\ndef f(a: int = 1, *, b: str = "x") -> None:\n    return None\n'
    messy = b"''' Doc. '''\n# c\nimport os  # d\ndef f( a:int=1,*,\n   b :str='x' )->None :return  None\n"
    before = build_map({"a.py": tidy, "b.py": b"import a\n"}).modules
    after = build_map({"a.py": messy, "b.py": b"import a\n"}).modules

    assert before["b.py"] == after["b.py"]
    assert before["a.py"].sha256 != after["a.py"].sha256
    assert before["a.py"].symbols == after["a.py"].symbols
    assert (before["a.py"].purpose, before["a.py"].tags) == (after["a.py"].purpose, after["a.py"].tags)


HOSTILE: dict[str, tuple[bytes, str]] = {
    "no syntax": (b"def f(:\n", "line 1: "),
    "NUL": (b"x\0y", "null bytes"),
    "brackets": (b"(" * 100_000, "too many nested parentheses"),
    "minus signs": (b"-" * 200_000 + b"1", "MemoryError"),
    "a long sum": (b"+".join([b"a"] * 50_000), "RecursionError"),
    "attributes": (b"a" + b".b" * 100_000, "RecursionError"),
    "lambdas": (b"lambda:" * 100_000 + b"1", "Error"),
    "elif": (b"if a: pass\n" + b"elif b: pass\n" * 50_000, "Error"),
    "a number of a million digits": (b"9" * 1_000_000, "line 1: Exceeds the limit"),
    "unknown encoding": (b"# coding: nope\n", "unknown encoding"),
    "an encoding of no text": (b"# coding: bz2_codec\n", "not a text encoding"),
    "not UTF-8": (b"\xff\xfe", "utf-8"),
    "tabs against spaces": (b"if x:\n\ta\n        b\n", "line 3"),
    "too large": (b"#" * (MAX_SOURCE + 1), "larger than 4 MiB"),
}


def test_hostile_sources_are_listed_with_their_error() -> None:
    """What breaks a parser is a line in the map; the modules beside it are read as ever."""
    files = {f"{name}.py": source for name, (source, _) in HOSTILE.items()}

    modules = build_map(files | {"fine.py": b'"""Fine."""'}).modules

    for name, (_, error) in HOSTILE.items():
        assert error in (modules[f"{name}.py"].error or ""), name
    assert modules["fine.py"].purpose == "Fine."


ODD: dict[str, tuple[bytes, str]] = {
    "byte order mark": (b'\xef\xbb\xbf"""Doc."""', "Doc."),
    "declared encoding": ('# coding: latin-1\n"""é"""'.encode("latin-1"), "é"),
    "utf-7": (b'# coding: utf-7\n"""+AOk-"""', "é"),
    "line ends": (b'"""Doc.\r\nMore."""\r\n', "Doc."),
    "lone surrogate": (b'"""\\ud800 x"""', "\N{REPLACEMENT CHARACTER} x"),
    "control characters": (b'"""\\x1b[2J\\u202e x"""', "\N{REPLACEMENT CHARACTER}[2J\N{REPLACEMENT CHARACTER} x"),
    "first line empty": (b'"""\n\n  Doc.  \n"""', "Doc."),
    "long": (b'"""' + b"x" * 10_000 + b'"""', "x" * 199 + "\N{HORIZONTAL ELLIPSIS}"),
    "bytes": (b'b"""Doc."""', ""),
    "f-string": (b'f"""Doc."""', ""),
    "empty": (b"", ""),
}


@pytest.mark.parametrize(("source", "purpose"), ODD.values(), ids=ODD)
def test_odd_sources_are_read(source: bytes, purpose: str) -> None:
    """Encodings and line ends are read as Python reads them; text becomes one short printable line."""
    module = one(source)

    assert (module.error, module.purpose) == (None, purpose)


def test_a_source_that_kills_the_parser_is_listed() -> None:
    """Where the child itself dies, the file that killed it says so, and the others are read in another child."""
    slow = b"x = (" + b"1+" * 900 + b"1)\n"
    files = {"a.py": b'"""A."""', "m.py": slow * 1000, "z.py": b'"""Z."""'}

    modules = build_map(files, workers=1, limits=ChildLimits(cpu_seconds=0.1)).modules

    assert modules["m.py"].error == "the parser took more than 0.1 s of CPU"
    assert (modules["a.py"].purpose, modules["z.py"].purpose) == ("A.", "Z.")


@settings(max_examples=25, deadline=None)
@given(st.lists(st.binary(max_size=60), min_size=1, max_size=30))
def test_any_bytes_make_a_map(sources: list[bytes]) -> None:
    """Whatever the files hold there is a map of all of them, and it can be written as UTF-8."""
    app = build_map({f"m{n}.py": source for n, source in enumerate(sources)})

    assert len(app.modules) == len(sources)
    render(app).encode()


def test_a_folder_and_its_files_give_the_same_map(tmp_path: Path) -> None:
    """The map of a folder is that of the same bytes in memory; hidden folders, caches and other files are left out."""
    for path, source in BILLING.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(source)
    for path in (".venv/x.py", "__pycache__/x.py", "node_modules/x.py", "notes.txt"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("")

    assert build_map(tmp_path) == build_map(BILLING | {".venv/x.py": b"", "a/__pycache__/x.py": b""})


def test_what_stands_in_the_place_of_a_source(tmp_path: Path) -> None:
    """Links and FIFOs named like sources are listed as not read, never followed or opened."""
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "link.py").symlink_to("/etc/passwd")
    (tmp_path / "fine.py").write_text("")

    app = build_map(tmp_path)

    assert list(app.modules) == ["fine.py"]
    assert [(item.path, item.reason) for item in app.unread] == [
        ("link.py", "a link to /etc/passwd"),
        ("pipe.py", "a fifo"),
    ]


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_the_same_map_however_many_work(workers: int) -> None:
    """The number of processes does not show."""
    files = {f"p{n}/m{n}.py": b"import os\n" * 2000 + f"import p{n - 1}.m{n - 1}\n".encode() for n in range(40)}

    assert build_map(files, workers=workers) == build_map(files, workers=1)
