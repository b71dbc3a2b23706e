"""Compiled Python in a workspace: which `.pyc` Python would run, and whether it is the source's code."""

from __future__ import annotations

import importlib.util
import marshal
import os
import py_compile
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from takeover.sandbox import gate
from takeover.sandbox.gate_bytecode import source_of
from takeover.sandbox.gate_model import FindingKind
from takeover.sandbox.tree import Manifest, TreeItem

GOOD = '''"""Tax."""
RATES = {1: 7}


class Tax:
    """In cents."""

    def of(self, cents, *, rate=7.5, kinds=frozenset({"a", "b", "c"})):
        if cents in {"x", "y", "z"} or cents > 10**30:
            return None, ..., 2j, b"raw", "é"
        return [cents * r // 100 for r in RATES.values()]
'''
EVIL = GOOD.replace("7}", "6}")
Pyc = Callable[[Path], object]


@pytest.fixture(name="root")
def _root(tmp_path: Path) -> Path:
    (tmp_path / "tax.py").write_text(GOOD)
    return tmp_path


def cached(root: Path, optimize: str = "") -> Path:
    return Path(importlib.util.cache_from_source(str(root / "tax.py"), optimization=optimize))


def compiled(mode: str = "TIMESTAMP", optimize: int = 0) -> Pyc:
    def make(root: Path) -> None:
        target = cached(root, str(optimize) if optimize else "")
        py_compile.compile(
            str(root / "tax.py"),
            cfile=str(target),
            optimize=optimize,
            invalidation_mode=py_compile.PycInvalidationMode[mode],
        )

    return make


def forged(mode: str = "TIMESTAMP", optimize: int = 0) -> Pyc:
    """The header of the true source before the code of another."""

    def make(root: Path) -> None:
        compiled(mode, optimize)(root)
        target = cached(root, str(optimize) if optimize else "")
        code = compile(EVIL, str(root / "tax.py"), "exec", optimize=optimize)
        target.write_bytes(target.read_bytes()[:16] + marshal.dumps(code))

    return make


def then(*steps: Pyc) -> Pyc:
    def make(root: Path) -> None:
        for step in steps:
            step(root)

    return make


def edit(root: Path) -> None:
    (root / "tax.py").write_text(EVIL)
    os.utime(root / "tax.py", (1, 1))


def same_time_other_source(root: Path) -> None:
    """The attack that hashing the sources alone does not see: the .pyc of a source that was put back since."""
    (root / "tax.py").write_text(EVIL)
    os.utime(root / "tax.py", (1_500_000_000, 1_500_000_000))
    compiled()(root)
    (root / "tax.py").write_text(GOOD)
    os.utime(root / "tax.py", (1_500_000_000, 1_500_000_000))


def header(**fields: bytes) -> Pyc:
    def make(root: Path) -> None:
        compiled()(root)
        data = bytearray(cached(root).read_bytes())
        for at, value in fields.items():
            data[int(at[1:]) : int(at[1:]) + len(value)] = value
        cached(root).write_bytes(data)

    return make


def body(change: Callable[[bytes], bytes]) -> Pyc:
    def make(root: Path) -> None:
        compiled()(root)
        data = cached(root).read_bytes()
        cached(root).write_bytes(data[:16] + change(data[16:]))

    return make


def renamed(name: str) -> Pyc:
    def make(root: Path) -> None:
        compiled()(root)
        (root / name).parent.mkdir(exist_ok=True)
        cached(root).rename(root / name)

    return make


def moved_away(root: Path) -> None:
    """Compiled under another path, as a workspace is that was copied with its times."""
    other = root.parent / "elsewhere"
    other.mkdir(exist_ok=True)
    (root / "tax.py").rename(other / "tax.py")
    compiled()(other)
    (other / "tax.py").rename(root / "tax.py")
    (root / "__pycache__").mkdir()
    cached(other).rename(cached(root))


STALE, FORGED = FindingKind.BYTECODE_STALE, FindingKind.BYTECODE_FORGED
ORPHAN, UNPROVEN = FindingKind.BYTECODE_ORPHAN, FindingKind.BYTECODE_UNPROVEN

CASES: dict[str, tuple[Pyc, FindingKind | None]] = {
    "honest, by time": (compiled(), None),
    "honest, checked hash": (compiled("CHECKED_HASH"), None),
    "honest, unchecked hash": (compiled("UNCHECKED_HASH"), None),
    "honest, -O": (compiled(optimize=1), None),
    "honest, -OO": (compiled(optimize=2), None),
    "honest, compiled elsewhere": (moved_away, None),
    "source edited since": (then(compiled(), edit), STALE),
    "source edited since, checked hash": (then(compiled("CHECKED_HASH"), edit), STALE),
    "source edited since, unchecked hash": (then(compiled("UNCHECKED_HASH"), edit), FORGED),
    "source put back, time restored": (same_time_other_source, FORGED),
    "forged, by time": (forged(), FORGED),
    "forged, checked hash": (forged("CHECKED_HASH"), FORGED),
    "forged, unchecked hash": (forged("UNCHECKED_HASH"), FORGED),
    "forged, -O": (forged(optimize=1), FORGED),
    "-OO code under the plain name": (then(compiled(optimize=2), lambda r: cached(r, "2").rename(cached(r))), FORGED),
    "another size in the header": (header(_12=b"\1\0\0\0"), STALE),
    "another Python": (header(_0=b"\1\2\r\n"), UNPROVEN),
    "truncated header": (lambda r: (compiled()(r), cached(r).write_bytes(b"\xa7")), STALE),
    "empty": (lambda r: (compiled()(r), cached(r).write_bytes(b"")), STALE),
    "truncated code": (body(lambda code: code[:-9]), FORGED),
    "no code at all": (body(lambda code: b""), FORGED),
    "a number for code": (body(lambda code: marshal.dumps(7)), FORGED),
    "references out of range": (body(lambda code: b"r\xff\xff\xff\x7f"), FORGED),
    "a container in itself": (body(lambda code: b"\xa9\x01r\0\0\0\0"), FORGED),
    "a tuple of two thousand million": (body(lambda code: b"(" + struct.pack("<i", 2_000_000_000)), FORGED),
    "nested ten thousand deep": (body(lambda code: b")\x01" * 10_000 + b"N"), FORGED),
    "doubling references": (body(lambda code: b"\xa9\x02" * 60 + b"NN"), FORGED),
    "beside its source": (renamed("tax.pyc"), None),
    "no source beside it": (renamed("other.pyc"), ORPHAN),
    "source gone": (renamed("__pycache__/gone.cpython-311.pyc"), STALE),
    "of a tool": (renamed(f"__pycache__/tax.{sys.implementation.cache_tag}-pytest-9.pyc"), UNPROVEN),
    "a name Python never looks for": (renamed("__pycache__/tax.pyc"), None),
}


@pytest.mark.parametrize(("make", "kind"), CASES.values(), ids=CASES)
def test_each_pyc_is_judged(make: Pyc, kind: FindingKind | None, root: Path) -> None:
    """Honest bytecode passes however it was made; whatever else Python would run unread is named for what it is."""
    make(root)

    findings = gate.record_folder(root).findings

    assert [finding.kind for finding in findings] == ([] if kind is None else [kind])


@pytest.mark.parametrize("make", [forged(), same_time_other_source], ids=["forged", "put back"])
def test_the_forgeries_are_real(make: Pyc, root: Path) -> None:
    """Python runs what the gate calls forged, and the source's own text never shows it."""
    make(root)

    done = subprocess.run(
        [sys.executable, "-c", "import tax; print(tax.RATES)"], check=True, cwd=root, capture_output=True, text=True
    )

    assert done.stdout == "{1: 6}\n"
    assert (root / "tax.py").read_text() == GOOD


def test_forged_bytecode_shuts_the_gate_and_honest_does_not(root: Path) -> None:
    """Running the tests leaves the gate open; a forged `.pyc` shuts it, though no source has changed."""
    before = gate.record_folder(root)
    compiled()(root)
    honest = gate.check(before, gate.record_folder(root))
    forged()(root)
    bad = gate.check(before, gate.record_folder(root))

    assert honest.clean
    assert [file.area for file in honest.files] == ["bytecode", "bytecode", "workspace"]
    assert not bad.clean
    assert not bad.drift


def test_an_exported_tree_is_judged_without_times(root: Path) -> None:
    """Where no times are known a forged `.pyc` is still told by its code."""
    forged()(root)
    record = gate.record_folder(root, bytecode=False)
    kinds = {"file": "f", "directory": "d"}
    items = {
        e.path: TreeItem(e.path, kinds[e.kind], e.mode, e.size, e.sha256)  # type: ignore[arg-type]
        for e in record.entries.values()
    }

    exported = gate.record_manifest(Manifest(items), lambda path: (root / path).read_bytes())

    assert [finding.kind for finding in exported.findings] == [FORGED]
    assert not record.findings


def test_a_source_that_breaks_compilers_breaks_nothing(root: Path) -> None:
    """A source that cannot be compiled has no honest bytecode."""
    compiled()(root)
    (root / "tax.py").write_text("(" * len(GOOD.encode()))
    stamp = struct.unpack("<I", cached(root).read_bytes()[8:12])[0]
    os.utime(root / "tax.py", (stamp, stamp))

    assert [finding.kind for finding in gate.record_folder(root).findings] == [FORGED]


PATHS = {
    "a/__pycache__/x.cpython-311.pyc": "a/x.py",
    "__pycache__/x.cpython-311.pyc": "x.py",
    "__pycache__/x.cpython-311.opt-2.pyc": "x.py",
    "__pycache__/x.y.cpython-311.pyc": "x.y.py",
    "__pycache__/x.pyc": None,
    "a/x.pyc": "a/x.py",
}


@pytest.mark.parametrize(("path", "source"), PATHS.items(), ids=PATHS)
def test_the_source_of_a_pyc(path: str, source: str | None) -> None:
    """The source is found as Python's import system pairs them."""
    assert source_of(path) == source
