"""The small codebase as a task; and the two that ship, where their releases can be had."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pytest
from trialruns import absent

# So that tests here can `from small_codebase import RELEASE`; tests/ is no package.
sys.path.insert(0, str(Path(__file__).parent))

from small_codebase import BUGS, REFERENCE, RELEASE, TASK, Shipped

from takeover.repos.add import packed
from takeover.repos.load import load_repo_task
from takeover.repos.source import files_of
from takeover.repos.task import RepoTask
from takeover.sandbox.errors import InputError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of the small task, with its release beside it."""
    root = tmp_path / "tally"
    root.mkdir()
    data = packed(RELEASE, "tally-1.0")
    (root / "tally-1.0.tar.gz").write_bytes(data)
    (root / "task.yaml").write_text(TASK)
    (root / "bugs.yaml").write_text(BUGS.format(sha256=hashlib.sha256(data).hexdigest()))
    (root / "reference.yaml").write_text(REFERENCE)
    return root


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Tests of the small task leave the user's cache alone."""
    if "shipped" not in request.fixturenames:
        monkeypatch.setenv("TAKEOVER_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def shipped() -> Shipped:
    """Loads a task that ships; skips where its release is neither cached nor on an index."""

    def load(name: str, variant: str = "0") -> RepoTask:
        task = load_repo_task(name, variant)
        try:
            files_of(task.known.archive)
        except InputError as error:
            absent(str(error))
        return task

    return load
