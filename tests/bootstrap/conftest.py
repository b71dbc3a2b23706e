"""A copy of the set-up scripts in a folder of their own, on a machine with hardly anything."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

# tests/ is no package.
sys.path.insert(0, str(Path(__file__).parent))

from bare_machine import ROOT, TOOLS, Machine


@pytest.fixture
def machine() -> Iterator[Machine]:
    """Debian's everyday commands, no Python, no Docker; readable for everybody, unlike pytest's own folders."""
    folder = Path(tempfile.mkdtemp(prefix="takeover-bootstrap-"))
    folder.chmod(0o755)
    root = folder / "clone"
    shutil.copytree(ROOT / "images", root / "images", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "requirements.lock", "requirements-dev.lock"):
        shutil.copy2(ROOT / name, root / name)
    commands = folder / "bin"
    commands.mkdir()
    for tool in TOOLS:
        if found := shutil.which(tool):
            (commands / tool).symlink_to(found)
    (root / "os-release").write_text("ID=elsewhere\n", encoding="utf-8")
    yield Machine(root, commands, {"OS_RELEASE": str(root / "os-release")})
    shutil.rmtree(folder)
