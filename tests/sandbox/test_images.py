"""Names of images."""

from __future__ import annotations

from pathlib import Path

import pytest

from takeover.sandbox.images import build_hint, recipes, resolve


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "agents/mine").mkdir(parents=True)
    (tmp_path / "agents/mine/Dockerfile").write_text("FROM x\n")
    (tmp_path / "agents/scripted").mkdir()
    return tmp_path


def test_recipes_are_the_folders_with_a_dockerfile(folder: Path) -> None:
    """The sandbox and every agent that has one."""
    assert recipes(folder) == ("sandbox", "mine")
    assert recipes(folder / "none") == ("sandbox",)


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("sandbox", "takeover-sandbox:latest"),
        ("mine", "takeover-mine:latest"),
        ("scripted", "scripted"),
        ("mine:1", "mine:1"),
        ("registry.example/mine@sha256:0", "registry.example/mine@sha256:0"),
    ],
)
def test_a_name_is_a_recipe_or_itself(folder: Path, name: str, reference: str) -> None:
    """Only exact names of recipes are replaced."""
    assert resolve(name, folder) == reference


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("sandbox", "images/build.sh sandbox"),
        ("takeover-sandbox:latest", "images/build.sh sandbox"),
        ("takeover-mine:0123", "images/build.sh mine"),
        ("other:1", "docker pull other:1"),
    ],
)
def test_a_missing_image_says_how_it_comes_to_be(folder: Path, name: str, hint: str) -> None:
    """Ours are built, others pulled."""
    assert hint in build_hint(name, folder)
