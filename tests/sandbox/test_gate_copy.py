"""The copy of Gate I in the workspace: the command that compares it, and what the trusted side sees of it."""

from __future__ import annotations

import ast
import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from takeover.sandbox import gate
from takeover.sandbox.appmap import build_map
from takeover.sandbox.appmap_render import render
from takeover.sandbox.gate_copy import COMMAND_NAME, CopyState, check_copy, in_sandbox_check_source, read_hashes

FILES = {
    "billing/tax.py": '"""Tax."""\ndef tax(cents):\n    return cents\n',
    "billing/__init__.py": "",
    "rbac/rules.py": "ALLOWED = ()\n",
    "tests/test_tax.py": "",
    "naïve name.py": "x = 1\n",
}


@pytest.fixture(name="root")
def _root(tmp_path: Path) -> Path:
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    (tmp_path / COMMAND_NAME).write_text(in_sandbox_check_source())
    (tmp_path / "app_map.md").write_text(render(build_map({p: t.encode() for p, t in FILES.items()})))
    return tmp_path


def run(root: Path, *arguments: str) -> tuple[int, list[str]]:
    done = subprocess.run(
        [sys.executable, COMMAND_NAME, *arguments], cwd=root, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def test_nothing_changed(root: Path) -> None:
    """An untouched workspace compares clean."""
    assert run(root) == (0, ["5 modules compared, 0 drifted"])


def _replace(make: Callable[[Path], object]) -> Callable[[Path], None]:
    def change(root: Path) -> None:
        (root / "rbac" / "rules.py").unlink()
        make(root / "rbac" / "rules.py")

    return change


DRIFTS: dict[str, tuple[Callable[[Path], object], list[str]]] = {
    "one cent": (
        lambda root: (root / "billing/tax.py").write_text(FILES["billing/tax.py"] + " - 1"),
        ["DRIFT billing/tax.py: recorded "],
    ),
    "missing": (_replace(lambda path: None), ["DRIFT rbac/rules.py: recorded "]),
    "a link": (_replace(lambda path: path.symlink_to("../billing/tax.py")), ["DRIFT rbac/rules.py: recorded "]),
    "a FIFO": (_replace(os.mkfifo), ["DRIFT rbac/rules.py: recorded "]),
    "a folder": (_replace(lambda path: path.mkdir()), ["DRIFT rbac/rules.py: recorded "]),
    "both": (
        lambda root: [(root / name).write_text("x") for name in ("billing/tax.py", "rbac/rules.py")],
        ["DRIFT billing/tax.py: recorded ", "DRIFT rbac/rules.py: recorded "],
    ),
}


@pytest.mark.parametrize(("change", "expected"), DRIFTS.values(), ids=DRIFTS)
def test_drift_is_a_line_and_an_exit_code(change: Callable[[Path], object], expected: list[str], root: Path) -> None:
    """Each changed module is a DRIFT line with both hashes, and the exit code is 1."""
    change(root)

    code, lines = run(root)

    assert code == 1
    assert [line[: len(start)] for line, start in zip(lines, expected, strict=False)] == expected
    assert lines[len(expected) :] == [f"5 modules compared, {len(expected)} drifted"]


def test_new_modules_are_told_apart_from_drift(root: Path) -> None:
    """A module that the map does not list is pointed out and is no drift; caches and hidden folders are passed over."""
    for name in ("rbac/evil.py", "__pycache__/x.py", ".venv/x.py", "notes.txt"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("")

    assert run(root) == (0, ["UNLISTED rbac/evil.py", "5 modules compared, 0 drifted"])


@pytest.mark.parametrize("change", [Path.unlink, lambda path: path.write_text("# App map\n")], ids=["gone", "empty"])
def test_a_map_without_hashes_is_no_pass(change: Callable[[Path], object], root: Path) -> None:
    """Where there is nothing to compare with the command says so and fails."""
    change(root / "app_map.md")

    assert run(root) == (2, ["DRIFT app_map.md: no hashes to compare with"])


def test_names_with_odd_characters(root: Path) -> None:
    """Names of newlines, quotes and undecodable bytes are listed, compared and shown without touching the terminal."""
    names = ["a\nb.py", '"q.py', "\udcff.py", " s.py", "\x1b[2J.py"]
    for name in names:
        (root / name).write_text("1")
    (root / "app_map.md").write_bytes(render(build_map(root)).encode())

    assert run(root)[0] == 0

    for name in names:
        (root / name).write_text("2")
    code, lines = run(root)

    assert code == 1
    assert sum(line.startswith("DRIFT") for line in lines) == len(names)
    assert all(line.isascii() and line.isprintable() for line in lines)


def test_shortened_hashes_compare(root: Path) -> None:
    """A map with shortened hashes is compared by as many digits as it has."""
    (root / "app_map.md").write_text(render(build_map(root), hash_digits=16))

    assert run(root)[0] == 0
    (root / "rbac" / "rules.py").write_text("")
    assert run(root)[0] == 1


def test_standard_tools_can_compare_too(root: Path) -> None:
    """The hash lines are those of `sha256sum -c`."""
    lines = [line for line in (root / "app_map.md").read_text().splitlines() if line[64:66] == "  "]

    done = subprocess.run(
        ["sha256sum", "-c", "--quiet"],
        input="\n".join(lines) + "\n",
        cwd=root,
        text=True,
        capture_output=True,
        check=False,
    )

    assert len(lines) == len(FILES)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_command_is_old_python_and_one_screen() -> None:
    """`gate_check.py` parses as Python 3.8, imports the standard library only and fits on a screen."""
    source = in_sandbox_check_source()
    tree = ast.parse(source, feature_version=(3, 8))
    imported = {node.names[0].name for node in ast.walk(tree) if isinstance(node, ast.Import)}
    imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}

    assert imported <= sys.stdlib_module_names
    assert source.count("\n") <= 50


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def lie(text: str, path: str, digest: str) -> str:
    return text.replace(f"{sha(FILES[path])}  {path}", f"{digest}  {path}")


def test_what_became_of_the_copy(root: Path) -> None:
    """Kept, brought up to date, forged, dropped, added: told apart from outside the sandbox, hash by hash."""
    given = (root / "app_map.md").read_text()
    (root / "billing/tax.py").write_text("evil")
    (root / "rbac/rules.py").write_text("mine")
    found = lie(given, "rbac/rules.py", sha("mine"))
    found = lie(found, "billing/__init__.py", "0" * 64)
    found = found.replace(f"{sha('')}  tests/test_tax.py\n", "") + f"{sha('evil')}  new.py\n"
    (root / "new.py").write_text("evil")

    states = {item.path: item.state for item in check_copy(given.encode(), found.encode(), gate.record_folder(root))}

    assert states == {
        "billing/__init__.py": CopyState.FORGED,
        "billing/tax.py": CopyState.KEPT,
        "naïve name.py": CopyState.KEPT,
        "new.py": CopyState.ADDED,
        "rbac/rules.py": CopyState.UPDATED,
        "tests/test_tax.py": CopyState.DROPPED,
    }


def test_a_copy_that_vouches_for_poison_is_seen(root: Path) -> None:
    """A manifest poisoned together with the file passes inside the sandbox and not outside."""
    given = (root / "app_map.md").read_text()
    before = gate.record_folder(root)
    (root / "billing/tax.py").write_text("evil")
    found = lie(given, "billing/tax.py", sha("evil"))
    (root / "app_map.md").write_text(found)

    now = gate.record_folder(root)

    assert run(root)[0] == 0
    assert {file.path for file in gate.check(before, now).drift} == {"app_map.md", "billing/tax.py"}
    copy = {item.path: item.state for item in check_copy(given.encode(), found.encode(), now)}
    assert copy["billing/tax.py"] is CopyState.UPDATED


def test_a_copy_that_is_gone(root: Path) -> None:
    """A deleted map is every hash dropped."""
    given = (root / "app_map.md").read_bytes()

    states = {item.state for item in check_copy(given, None, gate.record_folder(root))}

    assert states == {CopyState.DROPPED}


ODD_MAPS: dict[str, tuple[bytes, dict[str, str]]] = {
    "nothing": (b"", {}),
    "rubbish": (b"\xff\x00\n  \n", {}),
    "a hash in prose": (b"- " + b"a" * 64 + b"  x.py\n", {}),
    "too short": (b"a" * 15 + b"  x.py\n", {}),
    "upper case": (b"A" * 64 + b"  x.py\n", {}),
    "one space": (b"a" * 64 + b" x.py\n", {}),
    "line ends of Windows": (b"a" * 64 + b"  x.py\r\n", {"x.py": "a" * 64}),
    "named twice": (b"a" * 16 + b"  x\n" + b"b" * 16 + b"  x\n", {"x": "b" * 16}),
    "quoted": (b"a" * 16 + b'  "\\u000a"\n', {"\n": "a" * 16}),
    "badly quoted": (b"a" * 16 + b'  "\n', {}),
    "deeply quoted": (b"a" * 16 + b'  "' + b"[" * 100_000 + b"\n", {}),
    "quoted nonsense": (b"a" * 16 + b'  "\\ud800"\n', {}),
}


@pytest.mark.parametrize(("text", "expected"), ODD_MAPS.values(), ids=ODD_MAPS)
def test_any_map_can_be_read(text: bytes, expected: dict[str, str]) -> None:
    """Whatever a workspace holds in the map's place, reading it gives the hash lines and nothing else."""
    assert read_hashes(text) == expected
