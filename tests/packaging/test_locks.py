"""The locks are what the image and CI install."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
RUNTIME, DEVELOPMENT = ROOT / "requirements.lock", ROOT / "requirements-dev.lock"
LOCKS = [
    RUNTIME,
    DEVELOPMENT,
    *sorted(ROOT.glob("images/*/**/requirements.lock")),
    ROOT / "tests/model/requirements.lock",
]
PIN = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(?:\[[^]]*\])?==(?P<version>[^ ;\\]+)(?P<rest>.*)")


def blocks(lock: Path) -> list[str]:
    """The requirements of a lock, each with its hashes on one line."""
    joined = lock.read_text(encoding="utf-8").replace("\\\n", " ")
    return [line for line in joined.splitlines() if line and not line.startswith("#")]


def pins(lock: Path) -> set[tuple[str, str]]:
    found = set()
    for block in blocks(lock):
        match = PIN.match(block)
        assert match, block
        found.add((normal(match["name"]), match["version"]))
    return found


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_requirement_is_pinned_and_hashed(lock: Path) -> None:
    """No version floats, every file is known by its SHA-256, and no index is named."""
    assert [block for block in blocks(lock) if not re.search(r"==.*--hash=sha256:[0-9a-f]{64}", block)] == []
    assert "://" not in lock.read_text(encoding="utf-8")
    assert not re.search(r"(?m)^\s*(-i|-f|--\S*(index|find-links)\S*)", lock.read_text(encoding="utf-8"))


def test_the_lock_covers_the_project() -> None:
    """Every dependency of pyproject.toml, and what builds the project, is in the lock."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = [*project["project"]["dependencies"], *project["dependency-groups"]["build"]]
    names = {normal(re.split(r"[<>=!~ \[]", requirement)[0]) for requirement in wanted}
    assert names <= {name for name, _ in pins(RUNTIME)}
    development = {normal(re.split(r"[<>=!~ \[]", each)[0]) for each in project["dependency-groups"]["dev"]}
    assert development <= {name for name, _ in pins(DEVELOPMENT)}


def test_tests_run_on_what_is_shipped() -> None:
    """The development lock holds every pin of the other one."""
    assert pins(RUNTIME) <= pins(DEVELOPMENT)


@pytest.mark.parametrize(
    ("recipe", "package"),
    [("mini-swe-agent", "mini-swe-agent"), ("aider", "aider-chat"), ("openhands", "openhands-sdk")],
)
def test_agents_are_the_published_ones(recipe: str, package: str) -> None:
    """Each comes from its own release, at the version that its recipe names."""
    folder = ROOT / "images/agents" / recipe
    version = yaml.safe_load((folder / "recipe.yaml").read_text(encoding="utf-8"))["version"]
    assert (package, version) in pins(folder / "requirements.lock")
