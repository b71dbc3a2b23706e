"""The container's description: what it may not do is written down once, and nothing of the host leaks into it."""

from __future__ import annotations

from typing import Any

import docker
import pytest

from takeover.sandbox.container import create, host_config
from takeover.sandbox.guest.boot import BOOT
from takeover.sandbox.labels import labels
from takeover.sandbox.limits import Limits


class RecordingClient(docker.APIClient):
    """An API client whose requests go nowhere."""

    def __init__(self) -> None:
        super().__init__(base_url="unix:///nowhere.sock", version="1.41")
        self._general_configs = {"proxies": {"default": {"httpProxy": "http://user:secret@proxy:1"}}}
        self.sent: dict[str, Any] = {}

    def create_container_from_config(self, config: Any, name: Any = None, platform: Any = None) -> dict[str, str]:
        self.sent = {"config": config, "name": name}
        return {"Id": "c1"}


@pytest.fixture
def sent() -> dict[str, Any]:
    client = RecordingClient()
    host = host_config(Limits(memory=1 << 30, pids=7, cpus=1.5), ("/data",), None)
    assert create(client, "sha256:1", host, labels({}, "r")) == "c1"
    client.close()
    return client.sent


def test_it_has_no_name(sent: dict[str, Any]) -> None:
    """No ghost of an earlier container can be in its way."""
    assert sent["name"] is None


def test_it_is_shut_in(sent: dict[str, Any]) -> None:
    """No network, no capability but six, no new privileges, a read-only root, no bind, no port, no device."""
    host = sent["config"]["HostConfig"]

    assert host["NetworkMode"] == "none"
    assert sent["config"]["NetworkDisabled"] is True
    assert host["CapDrop"] == ["ALL"]
    assert sorted(host["CapAdd"]) == ["CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID"]
    assert host["SecurityOpt"] == ["no-new-privileges"]
    assert host["ReadonlyRootfs"] is True
    assert not host.get("Privileged")
    for field in ("Binds", "Mounts", "VolumesFrom", "PortBindings", "Devices", "PidMode", "UTSMode", "UsernsMode"):
        assert not host.get(field), field


def test_it_is_bounded(sent: dict[str, Any]) -> None:
    """Memory without swap, processes, CPUs, every writable mount, and no log on the engine's disk."""
    host = sent["config"]["HostConfig"]

    assert host["Memory"] == host["MemorySwap"] == 1 << 30
    assert host["PidsLimit"] == 7
    assert host["NanoCpus"] == 1_500_000_000
    assert host["LogConfig"]["Type"] == "none"
    assert set(host["Tmpfs"]) == {"/workspace", "/takeover-home", "/tmp", "/var/tmp", "/run", "/data"}
    for options in host["Tmpfs"].values():
        assert {"nosuid", "nodev"} <= set(options.split(","))
        assert "size=" in options
        assert "nr_inodes=" in options


def test_it_ends_with_its_wire(sent: dict[str, Any]) -> None:
    """Standard input is open once, and the engine removes the container when it ends."""
    config = sent["config"]

    assert config["OpenStdin"]
    assert config["StdinOnce"]
    assert not config["Tty"]
    assert config["HostConfig"]["AutoRemove"]
    assert config["StopSignal"] == "SIGKILL"


def test_nothing_of_the_user_comes_along(sent: dict[str, Any]) -> None:
    """The proxies of the user's Docker settings, passwords included, stay out; so does any environment."""
    assert not sent["config"].get("Env")
    assert "secret" not in str(sent)


def test_the_image_runs_nothing_of_its_own(sent: dict[str, Any]) -> None:
    """The guest replaces entrypoint and command, and the image's health check is off."""
    config = sent["config"]

    assert config["Entrypoint"] == ["python3", "-I", "-S", "-B", "-c", BOOT]
    assert not config["Cmd"]
    assert config["User"] == "0"
    assert config["Healthcheck"]["Test"] == ["NONE"]
