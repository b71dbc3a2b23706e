"""What `npm ci` installs into an agent's image is known to the byte, and is the version that the recipe says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

AGENTS = Path(__file__).resolve().parents[2] / "images" / "agents"
LOCKS = sorted(AGENTS.glob("*/package-lock.json"))
EXACT = re.compile(r"(?:npm:[^\s@]*@?[^\s@]+@)?\d+\.\d+\.\d+[0-9A-Za-z.-]*")


def packages(lock: Path) -> dict[str, Any]:
    """The packages of a lock, without the one that stands for the folder itself."""
    found: dict[str, Any] = json.loads(lock.read_text(encoding="utf-8"))["packages"]
    return {name: one for name, one in found.items() if name}


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.parent.name)
def test_every_package_is_pinned_and_hashed(lock: Path) -> None:
    """Each is known by its SHA-512, and no registry is named."""
    found = packages(lock)
    assert found
    assert [name for name, one in found.items() if not one.get("integrity", "").startswith("sha512-")] == []
    assert [name for name, one in found.items() if "resolved" in one] == []


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.parent.name)
def test_the_recipe_names_the_version_that_is_installed(lock: Path) -> None:
    """No version floats, and the agent's own package has the recipe's version."""
    given = json.loads(lock.with_name("package.json").read_text(encoding="utf-8"))
    wanted = {**given.get("dependencies", {}), **given.get("optionalDependencies", {})}
    assert [version for version in wanted.values() if not EXACT.fullmatch(version)] == []
    version = yaml.safe_load(lock.with_name("recipe.yaml").read_text(encoding="utf-8"))["version"]
    assert wanted
    assert [asked for asked in wanted.values() if version not in asked] == []


def test_python_agents_name_theirs() -> None:
    """As the requirement of the same name pins it."""
    for recipe in sorted(AGENTS.glob("*/recipe.yaml")):
        given = recipe.with_name("requirements.in")
        version = yaml.safe_load(recipe.read_text(encoding="utf-8"))["version"]
        if given.is_file() and recipe.parent.name != "takeover-agent":
            assert f"=={version}" in given.read_text(encoding="utf-8"), recipe
