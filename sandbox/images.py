"""Names of images: those that the toolkit builds itself, and any other reference as it stands."""

from __future__ import annotations

from pathlib import Path
from typing import Final

RECIPES: Final = Path(__file__).resolve().parents[1] / "images"
SANDBOX: Final = "sandbox"
# Agents, and what the tests of a real codebase need.
PLACES: Final = ("agents/*", "repos-*")


def recipes(folder: Path = RECIPES) -> tuple[str, ...]:
    """The names that the toolkit has a recipe for."""
    found = [path.parent.name for pattern in PLACES for path in sorted(folder.glob(f"{pattern}/Dockerfile"))]
    return (SANDBOX, *found)


def resolve(name: str, folder: Path = RECIPES) -> str:
    """The reference of an image: of a recipe's newest build, else the name itself."""
    return f"takeover-{name}:latest" if name in recipes(folder) else name


def build_hint(name: str, folder: Path = RECIPES) -> str:
    """How a missing image comes to be."""
    recipe = name.removeprefix("takeover-").partition(":")[0]
    if recipe in recipes(folder):
        return f"Build it with `images/build.sh {recipe}` (or `make images`)."
    return f"Build it, or `docker pull {name}`."
