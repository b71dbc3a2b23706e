"""The conformance list can fail: on an engine that is set up wrongly, the check that is about it turns red."""

from __future__ import annotations

from typing import Any

import pytest

from takeover.sandbox import engine as engine_module
from takeover.sandbox.conformance import CheckResult, run_checks
from takeover.sandbox.container import CAPABILITIES
from takeover.sandbox.engine import DockerEngine
from takeover.sandbox.wiresandbox import Deadlines

TMPFS = "rw,exec,nosuid,nodev,size=256m"

BROKEN: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a network": ({"network_mode": "bridge"}, ["net.interfaces", "net.ipv4"]),
    "a capability too many": ({"cap_add": [*CAPABILITIES, "NET_ADMIN"]}, ["pid1.capabilities"]),
    "no system call filter": (
        {"security_opt": ["no-new-privileges", "seccomp=unconfined"]},
        ["priv.namespaces", "priv.seccomp"],
    ),
    "a writable root": ({"read_only": False}, ["priv.read-only-root"]),
    "a directory of the host": ({"binds": ["/usr:/host:ro"]}, ["seen.mounts"]),
    "the engine's socket": ({"binds": ["/var/run/docker.sock:/mnt/docker.sock"]}, ["seen.mounts", "seen.socket"]),
    "a device": ({"devices": ["/dev/kmsg:/dev/kmsg"]}, ["priv.devices"]),
    "many processes": ({"pids_limit": 400}, ["limit.pids"]),
    "large mounts": (
        {"tmpfs": dict.fromkeys(("/workspace", "/tmp", "/run", "/takeover-home"), TMPFS)},
        ["limit.tmp", "limit.workspace"],
    ),
    "set-uid mounts": (
        {"tmpfs": dict.fromkeys(("/workspace", "/tmp", "/run", "/takeover-home"), "rw,exec,suid")},
        ["priv.no-new-privileges"],
    ),
    "all CPUs": ({"nano_cpus": 0}, ["limit.cpus"]),
    "no DNS": ({"sysctls": {"net.ipv4.ip_unprivileged_port_start": "1024"}}, ["net.dns"]),
}


def outcomes(engine: DockerEngine, image: str, names: list[str], **overrides: Any) -> list[CheckResult]:
    hasty = Deadlines(grace=3.0, goodbye=1.0)
    broken = DockerEngine(engine.client, engine.endpoint, run=engine.run, deadlines=hasty, unsafe_overrides=overrides)
    return list(run_checks(broken, image, names))


@pytest.mark.docker
@pytest.mark.parametrize("case", BROKEN)
def test_a_wrong_setup_is_seen(engine: DockerEngine, image: str, case: str) -> None:
    """Each weakness turns the checks that are about it red, and says why."""
    overrides, names = BROKEN[case]
    results = outcomes(engine, image, names, **overrides)

    assert [result.name for result in results if result.passed] == []
    assert all(result.evidence for result in results)


@pytest.mark.docker
def test_a_guest_that_kills_nothing_is_seen(engine: DockerEngine, image: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the killing taken out of the guest, the checks about survivors turn red."""
    text = engine_module.guest_preamble()
    blunt = text.replace(b"SIGKILL", b"SIGCONT")
    assert len(blunt) == len(text)
    assert blunt != text
    monkeypatch.setattr(engine_module, "guest_preamble", lambda: blunt)
    streams, children = outcomes(engine, image, ["run.streams", "run.children"])

    assert streams.passed, streams.evidence
    assert not children.passed
    assert "in time" in children.evidence


@pytest.mark.docker
def test_an_engine_that_loses_sandboxes_is_seen(engine: DockerEngine, image: str) -> None:
    """Machinery that fails in the middle of a check is a failed check, not a crash of the list."""
    results = outcomes(engine, image, ["run.streams", "run.exit"], mem_limit=6 << 20, memswap_limit=6 << 20)

    assert [result.passed for result in results] == [False, False]
    assert all("SandboxOutOfMemory" in result.evidence for result in results)
