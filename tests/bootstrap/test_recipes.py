"""Images are named by their recipe, and the host's package settings reach a build without staying in it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from bare_machine import Machine

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = """
case "$*" in *"pip config list"*) cat <<'E'
:env:.cert='/somewhere/ca.crt'
:env:.index-url='https://user:word@index.example/simple'
global.index-url='https://other.example/simple'
global.extra-index-url='file:///opt/simple https://more.example/simple'
global.find-links='/opt/wheels'
E
;; esac
"""


def tag(machine: Machine, name: str) -> str:
    return machine.bash(f"image_tag {name}").stdout


@pytest.mark.parametrize(
    ("changed", "other"),
    [
        ("images/sandbox/Dockerfile", {"sandbox", "mini-swe-agent", "codex"}),
        ("images/base.sh", {"sandbox", "mini-swe-agent", "codex"}),
        ("images/install.sh", {"sandbox", "mini-swe-agent", "codex"}),
        ("images/agents/mini-swe-agent/entry.py", {"mini-swe-agent"}),
        ("images/agents/codex/recipe.yaml", {"codex"}),
        ("images/node/npm.sh", {"codex"}),
        ("images/engine.sh", set()),
    ],
)
def test_a_changed_recipe_gets_another_tag(machine: Machine, changed: str, other: set[str]) -> None:
    """An image is built again exactly when its recipe, or that of an image below it, has changed."""
    before = {name: tag(machine, name) for name in ("sandbox", "mini-swe-agent", "codex")}
    with (machine.root / changed).open("a", encoding="utf-8") as recipe:
        recipe.write("# changed\n")
    assert {name for name, old in before.items() if tag(machine, name) != old} == other
    assert before["sandbox"].startswith("takeover-sandbox:")


def secrets(machine: Machine, env: dict[str, str]) -> dict[str, str]:
    """The secrets of a build on a machine with these settings."""
    Machine.program(machine.root / ".venv/bin/python", SETTINGS)
    (machine.root / "secrets").mkdir()
    (machine.root / "bundle.crt").write_text("certificates", encoding="utf-8")
    done = machine.bash("source images/secrets.sh; write_secrets secrets", env={"PIP_CERT": "bundle.crt", **env})
    assert done.returncode == 0, done.stderr
    return {path.name: path.read_text(encoding="utf-8") for path in (machine.root / "secrets").iterdir()}


def test_the_hosts_pip_settings_reach_the_build(machine: Machine) -> None:
    """Index, private certificates and proxy arrive, the environment before the files; paths on the host's disk do not."""
    found = secrets(machine, {"https_proxy": "http://proxy.example:3128"})
    assert found["ca"] == "certificates"
    assert found["pip_conf"].splitlines() == [
        "[global]",
        "cert = /run/secrets/ca",
        "index-url = https://user:word@index.example/simple",
        "extra-index-url = https://more.example/simple",
        "proxy = http://proxy.example:3128",
    ]


def test_the_hosts_apt_settings_reach_the_build(machine: Machine) -> None:
    """Proxies and mirrors arrive, the mirrors for Debian 12 whatever release the host runs; other people's sources stay."""
    machine.command(
        "apt-config", "echo 'Acquire::http::Proxy \"http://cache.example:3142\";'; echo 'APT::Color \"1\";'"
    )
    lines = [
        "http://mirror.example/debian/ trixie",
        "http://mirror.example/debian/ trixie-updates",
        "http://mirror.example/debian/ trixie-backports",
        "http://mirror.example/security/ trixie-security",
    ]
    machine.command(
        "apt-get", f'[[ "$*" == *Origin:*Debian* ]] && printf "%s\\n" {" ".join(repr(line) for line in lines)}'
    )
    found = secrets(machine, {})
    assert found["apt_sources"].splitlines() == [
        "deb http://mirror.example/debian/ bookworm main",
        "deb http://mirror.example/debian/ bookworm-updates main",
        "deb http://mirror.example/security/ bookworm-security main",
    ]
    assert found["apt_conf"].splitlines() == [
        'Acquire::http::Proxy "http://cache.example:3142";',
        'Acquire::https::CaInfo "/run/secrets/ca";',
        'Dir::Etc::sourcelist "/run/secrets/apt_sources";',
        'Dir::Etc::sourceparts "-";',
    ]


def test_the_hosts_npm_settings_reach_the_build(machine: Machine) -> None:
    """Registry, proxy and the word for the registry arrive, with what it takes from the environment; nothing else does."""
    given = machine.root / "npmrc"
    given.write_text("//npm.example/:_authToken=${WORD}-1\ncache=/somewhere\nprefix=~/npm\n", encoding="utf-8")
    machine.command(
        "npm",
        f"""if [[ "$*" == *userconfig* ]]; then echo {given}; else
printf '%s\n' 'registry = https://npm.example/' 'proxy = null' 'https-proxy=http://proxy.example:3128'; fi""",
    )
    assert secrets(machine, {"WORD": "open"})["npmrc"].splitlines() == [
        "cafile=/run/secrets/ca",
        "registry=https://npm.example/",
        "https-proxy=http://proxy.example:3128",
        "//npm.example/:_authToken=open-1",
    ]


def test_a_host_without_npm_says_what_its_environment_says(machine: Machine) -> None:
    """npm is needed by builds, not by the host."""
    found = secrets(machine, {"npm_config_registry": "https://npm.example/", "https_proxy": "http://proxy.example:1"})
    assert found["npmrc"].splitlines() == [
        "cafile=/run/secrets/ca",
        "registry=https://npm.example/",
        "https-proxy=http://proxy.example:1",
    ]


def test_a_host_without_settings_gives_none(machine: Machine) -> None:
    """Where apt is unknown the image's own sources serve."""
    found = secrets(machine, {})
    assert found["apt_sources"] == ""
    assert "sourcelist" not in found["apt_conf"]


def test_both_dockerfiles_make_the_same_user() -> None:
    """The sandbox that the trusted image carries is the one that images/sandbox describes."""
    lines = (ROOT / "images/sandbox/Dockerfile").read_text(encoding="utf-8").splitlines()
    trusted = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    assert {line for line in lines if line.startswith(("RUN useradd", "WORKDIR"))} <= set(trusted)
    assert [line for line in lines if "install.sh python3" in line] == [
        line for line in trusted if "install.sh python3 " in line
    ]


@pytest.mark.docker
@pytest.mark.parametrize("name", ["sandbox", "mini-swe-agent", "codex"])
def test_no_setting_of_the_host_stays_in_an_image(image: str, name: str) -> None:
    """Neither the history nor the configuration nor the files of an image hold what only the build should see."""
    reference = f"takeover-{name}:latest"
    if subprocess.run(["docker", "image", "inspect", reference], capture_output=True, check=False).returncode:
        unavailable = pytest.fail if os.environ.get("TAKEOVER_REQUIRE_ENGINE") == "1" else pytest.skip
        unavailable(f"{reference} is missing; `make images` builds it")
    history = docker("history", "--no-trunc", "--format", "{{.CreatedBy}}", reference)
    config = json.loads(docker("image", "inspect", reference))[0]["Config"]
    said = (history + json.dumps(config)).replace("http://127.0.0.1:4000", "the gateway in the sandbox")
    assert "proxy" not in said.lower()
    assert "://" not in said
    listing = docker(
        "run", "--rm", "--network", "none", "--user", "0", "--entrypoint", "sh", reference, "-c",
        "find /run/secrets /etc/apt/apt.conf.d/99mmdebstrap /etc/pip.conf /root/.config /root/.cache /root/.npm /root/.npmrc /home/agent/.npm /home/agent/.npmrc -type f 2>/dev/null; true",
    )  # fmt: skip
    assert listing == ""


def docker(*words: str) -> str:
    return subprocess.run(["docker", *words], capture_output=True, text=True, check=True).stdout


def test_the_scripts_are_clean() -> None:
    """shellcheck has nothing to say about any script."""
    if shutil.which("shellcheck") is None:
        if os.environ.get("CI"):
            pytest.fail("CI installs shellcheck")
        pytest.skip("shellcheck is not installed")
    scripts = [*sorted(ROOT.glob("images/**/*.sh")), ROOT / ".ci/run"]
    done = subprocess.run(["shellcheck", "-x", *scripts], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout == ""


def test_make_passes_its_arguments_on() -> None:
    """`make grade` runs the main job, `make grade ARGS=...` any command, and help names both commands of the README."""
    show = ["make", "-n", "grade"]
    env = {
        key: value
        for key, value in os.environ.items()
        if key not in {"ARGS", "MAIN_JOB"} and not key.startswith("MAKE")
    }
    plain = subprocess.run(show, cwd=ROOT, env=env, capture_output=True, text=True, check=True).stdout
    words = subprocess.run(
        [*show, "ARGS=tasks -h"], cwd=ROOT, env=env, capture_output=True, text=True, check=True
    ).stdout
    assert plain.splitlines()[-1].endswith("takeover demo")
    assert words.splitlines()[-1].endswith("takeover tasks -h")
    listed = subprocess.run(["make"], cwd=ROOT, env=env, capture_output=True, text=True, check=True).stdout
    assert {"make grade", "make test"} <= {" ".join(line.split()[:2]) for line in listed.splitlines()}
