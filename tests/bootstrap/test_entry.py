"""The trusted image brings the sandbox along, for an engine that has none."""

from __future__ import annotations

import importlib.util
import io
import os
import subprocess
import sys
import tarfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import docker
import pytest
from docker.errors import ImageNotFound

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """images/entry.py, with a small packed system and a name of its own for it."""
    spec = importlib.util.spec_from_file_location("takeover_entry", ROOT / "images/entry.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    packed = tmp_path / "sandbox.tar.gz"
    with tarfile.open(packed, "w:gz") as archive:
        info = tarfile.TarInfo("etc/hello")
        info.size = 2
        archive.addfile(info, io.BytesIO(b"hi"))
    monkeypatch.setattr(module, "PACKED", packed)
    monkeypatch.setattr(module, "SANDBOX", f"takeover-test-{uuid.uuid4().hex[:12]}")
    return module


@pytest.mark.docker
def test_a_missing_sandbox_image_is_imported_once(
    entry: ModuleType, image: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The packed system becomes the image, for the sandbox's user; the second time there is nothing to do."""
    client = docker.from_env()
    try:
        with pytest.raises(ImageNotFound):
            client.images.get(f"{entry.SANDBOX}:latest")
        assert entry.provide_sandbox() is None
        assert "once" in capsys.readouterr().err
        config = client.images.get(f"{entry.SANDBOX}:latest").attrs["Config"]
        assert (config["User"], config["WorkingDir"]) == ("1000:1000", "/workspace")
        assert entry.provide_sandbox() is None
        assert capsys.readouterr().err == ""
    finally:
        client.images.remove(f"{entry.SANDBOX}:latest")
        client.close()


def test_without_an_engine_three_lines_say_what_to_mount() -> None:
    """No socket is exit code 3 and three lines, not a traceback."""
    env = {**os.environ, "DOCKER_HOST": "unix:///nowhere/engine.sock"}
    program = [sys.executable, ROOT / "images/entry.py", "demo"]
    done = subprocess.run(program, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert len(done.stderr.splitlines()) == 3
    assert "/var/run/docker.sock" in done.stderr.splitlines()[1]
