"""The one description of a sandbox's container: what it may not do stands here and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from docker import APIClient
from docker.types import LogConfig, Ulimit

from .guest.boot import BOOT, COMMAND
from .limits import MIB, Limits
from .sandbox import HOME, WORKSPACE

# What PID 1 needs: become the agent, end its processes, own and read whatever it leaves behind.
CAPABILITIES: Final = ("SETUID", "SETGID", "KILL", "CHOWN", "DAC_OVERRIDE", "FOWNER")
INODE_OPTION: Final = "nr_inodes"
_RUN_SIZE: Final = 32 * MIB
_NOFILE: Final = 16384


def host_config(
    limits: Limits, volumes: tuple[str, ...], runtime: str | None, *, inode_caps: bool = True
) -> dict[str, Any]:
    """The keyword arguments of docker's create_host_config; some engines know no cap on inodes."""
    return {
        "auto_remove": True,
        "network_mode": "none",
        "ipc_mode": "private",
        "dns": ["127.0.0.1"],
        "dns_search": ["."],
        # Else PID 1 would need one capability more to answer DNS on port 53.
        "sysctls": {"net.ipv4.ip_unprivileged_port_start": "0"},
        "cap_drop": ["ALL"],
        "cap_add": list(CAPABILITIES),
        "security_opt": ["no-new-privileges"],
        "privileged": False,
        "read_only": True,
        "init": False,
        "tmpfs": _tmpfs(limits, volumes, f",{INODE_OPTION}={limits.inodes}" if inode_caps else ""),
        "shm_size": limits.shm,
        "mem_limit": limits.memory,
        "memswap_limit": limits.memory,
        "pids_limit": limits.pids,
        "nano_cpus": int(limits.cpus * 1e9),
        "ulimits": [Ulimit(name="nofile", soft=max(limits.nofile, _NOFILE), hard=max(limits.nofile, _NOFILE))],
        "log_config": LogConfig(type=LogConfig.types.NONE),
        "runtime": runtime,
    }


def _tmpfs(limits: Limits, volumes: tuple[str, ...], inodes: str) -> dict[str, str]:
    def mount(size: int, mode: str) -> str:
        return f"rw,exec,nosuid,nodev,size={size}{inodes},mode={mode}"

    # An image's own volumes would be disk without a cap, and would have to be removed.
    return {
        **{path: mount(limits.tmp, "0755") for path in volumes},
        WORKSPACE: mount(limits.workspace, "0755"),
        HOME: mount(limits.home, "0755"),
        "/tmp": mount(limits.tmp, "1777"),  # noqa: S108  # inside the container
        "/var/tmp": mount(limits.tmp, "1777"),  # noqa: S108
        "/run": mount(_RUN_SIZE, "0755"),
    }


def create(client: APIClient, image_id: str, host: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    """Create the container and return its id. It has no name, so no other can be in its way."""
    created = client.create_container(
        image_id,
        entrypoint=[*COMMAND, BOOT],
        command=[],
        user="0",
        hostname="sandbox",
        working_dir="/",
        stdin_open=True,
        stop_signal="SIGKILL",
        healthcheck={"test": ["NONE"]},
        # Not only a network without devices, but none that the engine sets up: runc's own namespace has a loopback, and
        # Docker would start itself once more, for as long as everything else takes, to put nothing beside it.
        network_disabled=host.get("network_mode") == "none",
        labels=dict(labels),
        host_config=client.create_host_config(**host),
        # The user's own proxy settings may hold a password.
        use_config_proxy=False,
    )
    return str(created["Id"])
