"""An engine whose disk images have filled: nothing is begun that has no room, and one command makes room."""

from __future__ import annotations

import io
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from takeover.sandbox.dockerapi import connect
from takeover.sandbox.endpoint import Endpoint

ROOT = Path(__file__).resolve().parents[2]
SIZE_MIB = 48
PREFLIGHT = "set -euo pipefail; source images/lib.sh; source images/room.sh; ENGINE_CLI=docker; "


@pytest.fixture(scope="module")
def small_engine() -> Iterator[str]:
    """The address of a dockerd of its own whose images lie on a disk of 48 MiB."""
    if os.geteuid() or shutil.which("dockerd") is None:
        pytest.skip("needs root and a dockerd to start")
    folder = Path(tempfile.mkdtemp(prefix="takeover-small-"))
    disk = folder / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE_MIB}m", "none", disk], check=False).returncode:
        pytest.skip("no file system can be mounted here")
    address = f"unix://{folder}/engine.sock"
    places = ["--data-root", disk, "--exec-root", folder / "exec", "--pidfile", folder / "pid"]
    # Not the folder's own name: that of a namespace has no underscores beside hyphens.
    namespace = f"small-{secrets.token_hex(6)}"
    apart = ["--containerd-namespace", namespace, "--containerd-plugins-namespace", f"{namespace}-p"]
    # In a network of its own: told to have no bridge, dockerd would remove that of the engine in use.
    command = ["unshare", "--net", "dockerd", "-H", address, *places, *apart, "--bridge=none", "--iptables=false"]
    with (folder / "log").open("wb") as log:
        daemon = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    try:
        while subprocess.run(["docker", "-H", address, "version"], capture_output=True, check=False).returncode:
            assert daemon.poll() is None, (folder / "log").read_text()[-2000:]
            time.sleep(0.1)
        yield address
    finally:
        daemon.send_signal(signal.SIGTERM)
        daemon.wait()
        subprocess.run(["umount", "--lazy", disk], check=True)
        shutil.rmtree(folder, ignore_errors=True)


def bash(script: str, address: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "DOCKER_HOST": address}
    return subprocess.run(
        ["bash", "-c", PREFLIGHT + script], cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )


@pytest.mark.docker
@pytest.mark.slow
def test_a_build_without_room_is_refused(small_engine: str) -> None:
    """Two lines with what is needed, what is free and what makes room; exit code 3; nothing is built or fetched."""
    done = bash("need_room $(missing sandbox codex)", small_engine)

    assert done.returncode == 3
    first, second = done.stderr.splitlines()
    assert first.startswith("error: building base sandbox codex needs about 1750 MiB in ")
    assert "takeover gc --images" in second
    free = int(first.split(", and ")[1].split(" ")[0])
    assert 0 < free <= SIZE_MIB


@pytest.mark.docker
@pytest.mark.slow
def test_the_build_script_asks_first(small_engine: str) -> None:
    """images/build.sh itself stops there, before it asks a registry or starts a builder."""
    done = subprocess.run(
        ["bash", "images/build.sh", "sandbox"],
        cwd=ROOT,
        env={**os.environ, "DOCKER_HOST": small_engine},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert done.stderr.startswith("error: building base sandbox needs about 750 MiB in ")
    assert len(done.stderr.splitlines()) <= 3


@pytest.mark.docker
@pytest.mark.slow
def test_what_fits_is_not_refused(small_engine: str) -> None:
    """Where nothing is missing, or there is room for it, not a word is said."""
    assert bash("need_room", small_engine).stderr == ""
    done = bash("room_of() { echo 1; }; need_room base sandbox", small_engine)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.docker
@pytest.mark.slow
def test_gc_makes_room(small_engine: str) -> None:
    """`takeover gc --images` on a full engine: the replaced builds go, it says how much that freed, and as much is free."""
    client = connect(Endpoint(small_engine, "test", named=True), 60)
    for tag in ("0" * 12, "1" * 12):
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as tar:
            info = tarfile.TarInfo("data")
            info.size = 8_000_000
            tar.addfile(info, io.BytesIO(secrets.token_bytes(info.size)))
        client.import_image_from_data(archive.getvalue(), repository="takeover-sandbox", tag=tag)
        client.tag(f"takeover-sandbox:{tag}", "takeover-sandbox", "latest")
    folder = client.info()["DockerRootDir"]
    before = shutil.disk_usage(folder).free

    done = subprocess.run(
        [sys.executable, "-m", "takeover", "gc", "--images"],
        env={**os.environ, "DOCKER_HOST": small_engine},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1:3] == ["takeover-sandbox:000000000000: removed", "1 images removed, 8 MB freed"]
    assert shutil.disk_usage(folder).free - before > 7_900_000
    assert [sorted(one["RepoTags"]) for one in client.images()] == [
        [f"takeover-sandbox:{'1' * 12}", "takeover-sandbox:latest"]
    ]
    client.close()
