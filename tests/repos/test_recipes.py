"""The images that a release's own tests run in."""

from __future__ import annotations

import re
import subprocess

import pytest

from takeover.repos.load import list_repo_tasks, load_repo_task
from takeover.sandbox.images import RECIPES, build_hint, recipes, resolve

IMAGES = sorted(path.name for path in RECIPES.glob("repos-*"))


def test_every_task_has_its_image() -> None:
    """Under a name that resolves to its newest build, and that `images/build.sh` knows."""
    named = {load_repo_task(one.id).visible.image for one in list_repo_tasks()}
    assert named == set(IMAGES)
    for name in named:
        assert name in recipes()
        assert resolve(name) == f"takeover-{name}:latest"
        assert f"images/build.sh {name}" in build_hint(name)


@pytest.mark.parametrize("name", IMAGES)
def test_the_lock_is_what_was_measured(name: str) -> None:
    """Every version of requirements.in, by its hashes, and no word of where it came from."""
    lock = (RECIPES / name / "requirements.lock").read_text()
    wanted = re.findall(r"^([\w-]+==[\w.]+)$", (RECIPES / name / "requirements.in").read_text(), re.MULTILINE)
    locked = re.findall(r"^([\w-]+==[\w.]+) \\\n +--hash=sha256:", lock, re.MULTILINE)
    assert {one.lower().replace("_", "-") for one in wanted} <= set(locked)
    assert "://" not in lock


@pytest.mark.parametrize("name", IMAGES)
def test_the_build_finds_its_recipe(name: str) -> None:
    """lib.sh looks for these images where they are."""
    script = f'source "{RECIPES}/lib.sh"; image_dir {name}; echo; image_tag {name}'
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    folder, tag = done.stdout.split()
    assert (RECIPES.parent / folder / "Dockerfile").is_file()
    assert re.fullmatch(rf"takeover-{name}:[0-9a-f]{{12}}", tag)
