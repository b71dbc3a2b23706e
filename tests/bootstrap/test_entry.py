"""The trusted image brings the sandbox along, for an engine that has none."""

from __future__ import annotations

import importlib.util
import io
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


def test_without_an_engine_three_lines_say_what_to_mount(
    entry: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No socket is exit code 3 and three lines, not a traceback."""
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/engine.sock")
    monkeypatch.setattr("sys.argv", ["entry.py", "demo"])
    with pytest.raises(SystemExit) as ended:
        entry.main()
    assert ended.value.code == 3
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 3
    assert "/var/run/docker.sock" in said[1]
