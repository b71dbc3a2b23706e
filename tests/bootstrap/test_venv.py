"""`.venv` is made from the lock, once."""

from __future__ import annotations

import os

import pytest
from bare_machine import Machine

# A python3.12 that makes environments whose own python writes down how it was called.
GOOD = """
case "$*" in
*version_info*) exit 0 ;;
"--version") echo Python 3.12.0 ;;
*ensurepip*) exit 0 ;;
"-m venv --clear "*)
    mkdir -p "$4/bin"
    printf '#!%s\\necho "$@" >>"%s/calls"\\n' "$BASH" "$4" >"$4/bin/python"
    chmod +x "$4/bin/python" ;;
esac
"""
OLD = """
case "$*" in *version_info*) exit 1 ;; esac
"""


def calls(machine: Machine) -> list[str]:
    """What the environment's python was asked to do, without the questions."""
    said = (machine.root / ".venv/calls").read_text(encoding="utf-8").splitlines()
    return [line for line in said if line.startswith("-m pip install")]


def venv(machine: Machine, lock: str = "requirements.lock", **options: bool) -> tuple[int, str]:
    done = machine.run(["bash", "images/venv.sh", lock], **options)
    return done.returncode, done.stderr


def test_python_is_found_under_another_name(machine: Machine) -> None:
    """An old `python3` does not stop anyone who has python3.12; the lock is installed with its hashes."""
    machine.command("python3", OLD)
    machine.command("python3.12", GOOD)
    assert venv(machine) == (0, "==> making .venv with Python 3.12.0\n==> installing requirements.lock into .venv\n")
    lock, project = calls(machine)
    assert "--require-hashes" in lock
    assert lock.endswith("/requirements.lock")
    assert {"--no-deps", "--no-build-isolation", "--editable"} <= set(project.split())


def test_nothing_is_installed_twice(machine: Machine) -> None:
    """A second call does nothing, and the development lock holds the other one; a changed lock is installed."""
    machine.command("python3", GOOD)
    venv(machine, "requirements-dev.lock")
    assert len(calls(machine)) == 2
    assert venv(machine, "requirements-dev.lock") == (0, "")
    assert venv(machine, "requirements.lock") == (0, "")
    with (machine.root / "requirements-dev.lock").open("a", encoding="utf-8") as lock:
        lock.write("# changed\n")
    venv(machine, "requirements-dev.lock")
    assert len(calls(machine)) == 4


def test_a_moved_clone_gets_its_environment_anew(machine: Machine) -> None:
    """Programs in an environment name its path, so a clone under another name cannot keep using it."""
    machine.command("python3", GOOD)
    venv(machine)
    machine.root = machine.root.rename(machine.root.with_name("moved"))
    code, said = venv(machine)
    assert (code, said.splitlines()[0]) == (0, "==> making .venv with Python 3.12.0")
    assert venv(machine) == (0, "")


def test_an_interrupted_installation_is_done_again(machine: Machine) -> None:
    """What pip did not finish does not count as installed."""
    machine.command("python3", GOOD)
    venv(machine)
    for stamp in (machine.root / ".venv").glob(".installed-*"):
        stamp.unlink()
    Machine.program(machine.root / ".venv/bin/python", '[[ "$*" != *"pip install"* ]]')
    assert venv(machine)[0] != 0
    assert list((machine.root / ".venv").glob(".installed-*")) == []


@pytest.mark.parametrize(
    ("python", "needed"), [(OLD, "Python 3.11 or newer"), ('[[ "$*" != *ensurepip* ]] || exit 1', "python3")]
)
def test_what_is_missing_is_said_in_three_lines(machine: Machine, python: str, needed: str) -> None:
    """Without a usable Python, or without its venv part, a user who is not root reads what to install; exit code 3."""
    machine.command("python3", python)
    code, said = venv(machine, nobody=True)
    assert code == 3
    assert len(said.splitlines()) == 3
    assert needed in said
    assert "apt-get install" in said


@pytest.mark.skipif(os.getuid() != 0, reason="only root installs packages")
def test_root_on_debian_gets_what_is_missing(machine: Machine) -> None:
    """Debian's python3 without its venv part is completed, not complained about."""
    (machine.root / "os-release").write_text("ID=ubuntu\nID_LIKE=debian\n", encoding="utf-8")
    marker = machine.root / "installed"
    machine.command("python3", f'if [[ "$*" == *ensurepip* ]]; then [[ -e {marker} ]]; exit; fi\n{GOOD}')
    machine.command("apt-get", f'[[ "$*" != *install* ]] || echo "$@" >>{marker}')
    code, said = venv(machine)
    assert code == 0, said
    assert "-venv" in marker.read_text(encoding="utf-8")
