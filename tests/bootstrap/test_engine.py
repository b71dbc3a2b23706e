"""An engine that answers is used; where none does, one is installed and started, or three lines say what to do."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from bare_machine import Machine

ROOT = os.getuid() == 0
as_root = pytest.mark.skipif(not ROOT, reason="only root starts an engine")
# Fails as Docker does on a kernel without firewall tables, unless it is told to leave the network alone.
NO_FIREWALL = """
echo "$@" >>{calls}
if [[ "$*" != *--bridge=none* ]]; then echo 'Error initializing network controller: no iptables'; exit 1; fi
touch {up}
exec sleep 60
"""


def finder(machine: Machine, script: str) -> None:
    """What the environment's python says when it is asked for an engine."""
    Machine.program(machine.root / ".venv/bin/python", script)


def engine(machine: Machine, **options: object) -> tuple[int, str]:
    done = machine.run(["bash", "images/engine.sh"], **options)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("address", "remembered"),
    [
        ("unix:///var/run/docker.sock", ""),
        ("unix:///run/user/7/podman/podman.sock", "DOCKER_HOST=unix:///run/user/7/podman/podman.sock\n"),
        ("tcp://10.0.0.9:2376", ""),
    ],
)
def test_an_engine_that_answers_is_used_as_it_is(machine: Machine, address: str, remembered: str) -> None:
    """Nothing is installed, nothing is said; only a socket that Docker would not look at is passed on."""
    finder(machine, f"echo {address}")
    assert engine(machine) == (0, "")
    assert (machine.root / ".venv/engine.env").read_text(encoding="utf-8") == remembered


def test_without_an_engine_three_lines_say_what_to_install(machine: Machine) -> None:
    """A user who is not root reads what to install; exit code 3, not a traceback."""
    finder(machine, "exit 1")
    (machine.root / ".venv").chmod(0o777)
    code, said = engine(machine, nobody=True)
    assert code == 3
    assert len(said.splitlines()) == 3
    assert "apt-get install docker.io" in said
    assert "podman.socket" in said
    assert "DOCKER_HOST" in said


def test_an_engine_that_was_named_is_not_replaced(machine: Machine) -> None:
    """DOCKER_HOST that does not answer is an error, never a reason to install another engine."""
    finder(machine, "echo 'DOCKER_HOST: no engine answers' >&2; exit 2")
    machine.command("apt-get", "exit 9")
    code, said = engine(machine, env={"DOCKER_HOST": "tcp://10.0.0.9:2375"})
    assert code == 3
    assert said.startswith("error: DOCKER_HOST: no engine answers\n")
    assert len(said.splitlines()) <= 3


def test_the_search_is_that_of_the_package() -> None:
    """The scripts look for an engine where takeover looks, with its exit codes."""
    images = Path(__file__).resolve().parents[2] / "images"
    env = {**os.environ, "DOCKER_HOST": "unix:///nowhere/engine.sock"}
    python = images.parent / ".venv/bin/python"
    done = subprocess.run([python, images / "find_engine.py"], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "unix:///nowhere/engine.sock" in done.stderr


@as_root
def test_the_engine_is_installed_and_started_where_there_is_none(machine: Machine) -> None:
    """Root on Debian gets docker.io, with the command and the builder where the release ships them apart."""
    asked, up = machine.root / "asked", machine.root / "up"
    (machine.root / "os-release").write_text("ID=debian\n", encoding="utf-8")
    finder(machine, f"[[ -e {up} ]] && echo unix:///var/run/docker.sock")
    machine.command("apt-cache", '[[ "$*" != *docker-buildx* ]] || echo Package: docker-buildx')
    daemon = f"#!{shutil.which('bash')}\\ntouch {up}\\nexec sleep 60\\n"
    machine.command(
        "apt-get", f"echo \"$@\" >>{asked}; printf '{daemon}' >{machine.bin}/dockerd; chmod +x {machine.bin}/dockerd"
    )
    code, said = (
        machine.run(
            [
                "bash",
                "-c",
                "source images/lib.sh; source images/daemon.sh; " + patched(machine.root / "images/engine.sh"),
            ]
        ).returncode,
        "",
    )
    assert code == 0, said
    installed = [line for line in asked.read_text(encoding="utf-8").splitlines() if " install " in f" {line} "]
    assert installed[-1].endswith("docker.io iptables docker-buildx")
    os.kill(int((machine.root / ".venv/dockerd.pid").read_text()), signal.SIGKILL)


def patched(script: Path) -> str:
    """engine.sh with this machine's own daemon, service manager and control groups out of its sight."""
    text = script.read_text(encoding="utf-8").replace("source ", ": ").replace("/var/run/docker", "nowhere/docker")
    return text.replace("/run/systemd/system", "nowhere").replace("mount_cgroups ||", "true ||")


@as_root
def test_a_kernel_without_firewall_tables_is_served(machine: Machine) -> None:
    """Sandboxes have no network, so an engine that cannot set up its own is started without one."""
    calls, up = machine.root / "calls", machine.root / "up"
    machine.command("dockerd", NO_FIREWALL.format(calls=calls, up=up))
    machine.command("probe", f"[[ -e {up} ]]")
    done = machine.bash("source images/daemon.sh; start_daemon log/engine.log pid probe --debug")
    assert done.returncode == 0, done.stderr
    first, second = calls.read_text(encoding="utf-8").splitlines()
    assert (first, second) == ("--debug", "--iptables=false --ip6tables=false --bridge=none --debug")
    os.kill(int((machine.root / "pid").read_text()), signal.SIGKILL)


def test_a_daemon_that_dies_is_not_waited_for(machine: Machine) -> None:
    """A daemon that ends at once fails at once, and its log is kept."""
    machine.command("dockerd", "echo 'no such option'; exit 2")
    machine.command("probe", "false")
    began = time.monotonic()
    done = machine.bash("source images/daemon.sh; start_daemon log/engine.log pid probe --nonsense")
    assert done.returncode != 0
    assert time.monotonic() - began < 20
    assert "no such option" in (machine.root / "log/engine.log").read_text(encoding="utf-8")


def test_only_a_stale_pid_file_is_removed(machine: Machine) -> None:
    """A number that belongs to another program now is dropped; that of a living daemon stays."""
    (machine.root / "mine.pid").write_text(f"{os.getpid()}\n", encoding="utf-8")
    (machine.root / "gone.pid").write_text("not a number\n", encoding="utf-8")
    own = Path("/proc/self/comm").read_text(encoding="utf-8").strip()
    machine.bash(f"source images/daemon.sh; drop_stale_pid mine.pid '{own}'; drop_stale_pid gone.pid dockerd")
    assert (machine.root / "mine.pid").exists()
    assert not (machine.root / "gone.pid").exists()
    machine.bash("source images/daemon.sh; drop_stale_pid mine.pid dockerd")
    assert not (machine.root / "mine.pid").exists()


@as_root
@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("dockerd") is None, reason="there is no dockerd to start")
def test_a_real_engine_outlives_the_shell_that_started_it(machine: Machine) -> None:
    """A second dockerd, beside the one in use, starts, answers after its starter is gone, and ends when told to."""
    socket, pidfile = machine.root / "engine.sock", machine.root / "pid"
    path = {"PATH": f"{machine.bin}:{os.environ['PATH']}"}
    # In a network of its own: told to have no bridge, dockerd would remove that of the engine in use.
    machine.command("dockerd", f'exec unshare --net {shutil.which("dockerd")} "$@"')
    Machine.program(machine.bin / "probe", f"docker -H unix://{socket} version")
    folders = " ".join(f"--{name} {machine.root / name}" for name in ("data-root", "exec-root", "pidfile"))
    words = f"-H unix://{socket} {folders} --containerd-namespace t --containerd-plugins-namespace p"
    done = machine.bash(
        f"source images/daemon.sh; start_daemon engine.log pid {machine.bin}/probe {words} --bridge=none --iptables=false",
        env=path,
    )
    log = (machine.root / "engine.log").read_text(encoding="utf-8")
    assert done.returncode == 0, log[-2000:]
    pid = int(pidfile.read_text())
    try:
        assert Path(f"/proc/{pid}/comm").read_text().strip() == "dockerd"
        assert machine.run([str(machine.bin / "probe")], env=path).returncode == 0
    finally:
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + 20
        while Path(f"/proc/{pid}/comm").exists() and time.monotonic() < deadline:
            time.sleep(0.1)
    assert not Path(f"/proc/{pid}/comm").exists()
