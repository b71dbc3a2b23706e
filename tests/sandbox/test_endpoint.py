"""Which engine is meant: what the user named first, else the usual sockets."""

from __future__ import annotations

import hashlib
import json
import socket
from pathlib import Path

import pytest

from takeover.sandbox.dockerapi import connect
from takeover.sandbox.endpoint import Endpoint, endpoints, present
from takeover.sandbox.engine import DockerEngine
from takeover.sandbox.errors import EngineUnavailable


def write_context(home: Path, name: str, docker: object) -> None:
    folder = home / ".docker/contexts/meta" / hashlib.sha256(name.encode()).hexdigest()
    folder.mkdir(parents=True)
    (folder / "meta.json").write_text(json.dumps({"Name": name, "Endpoints": {"docker": docker}}))


def choose(home: Path, name: str) -> None:
    (home / ".docker").mkdir(exist_ok=True)
    (home / ".docker/config.json").write_text(json.dumps({"currentContext": name}))


def test_docker_host_comes_first(tmp_path: Path) -> None:
    """DOCKER_HOST wins over the current context and has no substitute."""
    write_context(tmp_path, "far", {"Host": "tcp://far:2375"})
    choose(tmp_path, "far")

    assert endpoints({"DOCKER_HOST": "tcp://near:2375"}, tmp_path) == (
        Endpoint("tcp://near:2375", "DOCKER_HOST", named=True),
    )


def test_then_the_current_context(tmp_path: Path) -> None:
    """The context of the configuration, or of DOCKER_CONTEXT, or of another DOCKER_CONFIG."""
    write_context(tmp_path, "far", {"Host": "unix:///run/far.sock"})
    write_context(tmp_path, "other", {"Host": "unix:///run/other.sock"})
    choose(tmp_path, "far")
    named = [
        endpoints({}, tmp_path),
        endpoints({"DOCKER_CONTEXT": "other"}, tmp_path),
        endpoints({"DOCKER_CONFIG": str(tmp_path / ".docker"), "DOCKER_CONTEXT": "far"}, tmp_path / "nowhere"),
    ]

    assert [[found.url for found in each] for each in named] == [
        ["unix:///run/far.sock"],
        ["unix:///run/other.sock"],
        ["unix:///run/far.sock"],
    ]
    assert endpoints({"DOCKER_CONTEXT": "default"}, tmp_path)[0].url == "unix:///var/run/docker.sock"


def test_then_the_usual_sockets(tmp_path: Path) -> None:
    """Docker's socket, rootless and Desktop ones, then Podman's."""
    urls = [found.url for found in endpoints({"XDG_RUNTIME_DIR": "/run/user/7"}, tmp_path)]

    assert urls == [
        "unix:///var/run/docker.sock",
        "unix:///run/user/7/docker.sock",
        f"unix://{tmp_path}/.docker/run/docker.sock",
        "unix:///run/user/7/podman/podman.sock",
        "unix:///run/podman/podman.sock",
    ]


@pytest.mark.parametrize("meta", [None, {}, {"Host": 7}, [], "x"])
def test_a_context_that_is_not_described_is_named(tmp_path: Path, meta: object) -> None:
    """A missing or broken context is an error that names it, never a silent fall-back to another engine."""
    if meta is not None:
        write_context(tmp_path, "far", meta)
    choose(tmp_path, "far")
    with pytest.raises(EngineUnavailable, match="'far'"):
        endpoints({}, tmp_path)


def test_a_broken_configuration_is_no_configuration(tmp_path: Path) -> None:
    """An unreadable config.json leaves the default."""
    (tmp_path / ".docker").mkdir()
    (tmp_path / ".docker/config.json").write_text("{")

    assert not endpoints({}, tmp_path)[0].named


def test_tls_of_the_environment(tmp_path: Path) -> None:
    """Certificates are taken from DOCKER_CERT_PATH if they exist; only DOCKER_TLS_VERIFY checks the engine."""
    for name in ("ca.pem", "cert.pem", "key.pem"):
        (tmp_path / name).write_text("x")
    env = {"DOCKER_HOST": "tcp://far:2376", "DOCKER_CERT_PATH": str(tmp_path)}
    verified = endpoints({**env, "DOCKER_TLS_VERIFY": "1"}, tmp_path)[0].tls
    trusting = endpoints(env, tmp_path)[0].tls

    assert verified is not None
    assert verified.verify
    assert verified.cert == (str(tmp_path / "cert.pem"), str(tmp_path / "key.pem"))
    assert trusting is not None
    assert not trusting.verify


def test_a_socket_must_be_one(tmp_path: Path) -> None:
    """A path that is missing or no socket is not worth asking."""
    (tmp_path / "file").write_text("x")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "sock"))
        kinds = [present(Endpoint(f"unix://{tmp_path}/{name}", "")) for name in ("sock", "file", "gone")]

    assert kinds == [True, False, False]


def test_no_engine_is_an_error_that_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that answers is an EngineUnavailable with a hint, and never takes long."""
    for url in (f"unix://{tmp_path}/gone.sock", "tcp://127.0.0.1:1", "ssh://somewhere", "nonsense"):
        monkeypatch.setenv("DOCKER_HOST", url)
        with pytest.raises(EngineUnavailable) as caught:
            DockerEngine.from_env(timeout=2)
        assert caught.value.hint
        assert "Traceback" not in str(caught.value)


def test_an_engine_that_does_not_answer_is_given_up(tmp_path: Path) -> None:
    """A socket that accepts and stays silent does not hang us."""
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "sock"))
        silent.listen()
        with pytest.raises(EngineUnavailable):
            connect(Endpoint(f"unix://{tmp_path}/sock", "test", named=True), timeout=1)
