"""What people install is what the repository holds."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from takeover.trials.toolkit import toolkit_sha256

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LISTED = PROJECT["tool"]["setuptools"]["packages"]
NO_PACKAGES = {"bench", "build", "docs", "images", "runs", "tests"}
TASK_ROOMS = {"tiers", "repos"}


def repository_files() -> list[Path]:
    """Every file that git would commit, relative to the root."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    ).stdout
    names = [Path(name) for name in listed.decode().split("\0") if name]
    return [name for name in names if (ROOT / name).is_file()]


def is_package_folder(folder: Path) -> bool:
    """Whether a folder with an `__init__.py` is ours; what a task holds is an agent's."""
    parts = folder.parts
    return bool(parts) and parts[0] not in NO_PACKAGES and not (parts[0] in TASK_ROOMS and len(parts) > 1)


def package_files() -> set[str]:
    """Where the wheel must hold the repository's files."""
    folders = {Path(*name.split(".")[1:]) for name in LISTED}
    whole = {Path("images"), *(Path(room) for room in TASK_ROOMS)}
    kept = set()
    for path in repository_files():
        module = path.suffix == ".py" and path.parent in folders
        named = path.suffix == ".yaml" and path.parent in folders - {Path()}
        data = named or path.parts[1:2] == ("templates",) or path.parts[0] in {str(folder) for folder in whole}
        schema = path.parent == Path("docs/schemas") and path.suffix == ".json"
        if module or data or schema or path == Path("py.typed"):
            kept.add(f"takeover/{path.as_posix()}")
    return kept


def test_every_package_folder_is_listed() -> None:
    """A package folder that pyproject.toml forgets would work from a clone and be missing from the wheel."""
    found = {
        ".".join(["takeover", *path.parent.parts])
        for path in repository_files()
        if path.name == "__init__.py" and is_package_folder(path.parent)
    }
    assert set(LISTED) == found | {"takeover"}


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """An sdist of a clean copy, and the wheel built from that sdist."""
    copy = tmp_path_factory.mktemp("clone")
    for path in repository_files():
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / path, copy / path)
    out = tmp_path_factory.mktemp("dist")

    def build(kind: str, source: Path) -> Path:
        code = f"from setuptools import build_meta; print(build_meta.build_{kind}({str(out)!r}))"
        done = subprocess.run([sys.executable, "-c", code], cwd=source, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        return out / done.stdout.splitlines()[-1]

    sdist = build("sdist", copy)
    unpacked = tmp_path_factory.mktemp("sdist")
    subprocess.run(["tar", "-xf", sdist, "-C", unpacked], check=True)
    return sdist, build("wheel", next(unpacked.iterdir()))


@pytest.mark.slow
def test_the_wheel_holds_what_the_package_needs(distributions: tuple[Path, Path]) -> None:
    """Modules, task folders, image recipes, schemas and the guest are in the wheel, and nothing else is."""
    with zipfile.ZipFile(distributions[1]) as wheel:
        held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert held == package_files()


@pytest.mark.slow
def test_the_sdist_can_be_tested(distributions: tuple[Path, Path]) -> None:
    """The sdist carries the tests, the locks and the licence."""
    with tarfile.open(distributions[0]) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    assert held >= {"LICENSE", "Makefile", "requirements.lock", "requirements-dev.lock", "tests/test_house.py"}


@pytest.mark.slow
def test_the_wheel_runs_from_site_packages(distributions: tuple[Path, Path], tmp_path: Path) -> None:
    """Nothing called `cli` or `grader` lands beside other people's modules, and the entry point answers."""
    site = tmp_path / "site"
    with zipfile.ZipFile(distributions[1]) as wheel:
        wheel.extractall(site)
    tops = {path.name for path in site.iterdir()}
    assert {name for name in tops if not name.endswith(".dist-info")} == {"takeover"}
    code = "import sys; sys.path.insert(0, sys.argv.pop(1)); import takeover; print(takeover.__file__)"
    done = subprocess.run([sys.executable, "-c", code, str(site)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(site / "takeover" / "__init__.py")


@pytest.mark.slow
def test_what_is_installed_has_the_hash_of_its_sources(distributions: tuple[Path, Path], tmp_path: Path) -> None:
    """A run that a clone began can be gone on with by the wheel of the same sources: `toolkit_sha256` is one."""
    with tarfile.open(distributions[0]) as archive:
        archive.extractall(tmp_path / "sdist", filter="data")
    with zipfile.ZipFile(distributions[1]) as wheel:
        wheel.extractall(tmp_path / "site")
    (source,) = (tmp_path / "sdist").iterdir()
    assert toolkit_sha256(source) == toolkit_sha256(tmp_path / "site" / "takeover")
