"""The engine for real: nothing is left behind, nothing of others is touched, and each failure has its own name."""

from __future__ import annotations

import contextlib
import gc
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from proxies import Proxy, certificates, tcp_proxy, unix_proxy, until

from takeover.sandbox import labels
from takeover.sandbox.conformance.backstage import Backstage
from takeover.sandbox.container import create, host_config
from takeover.sandbox.dockerapi import connect
from takeover.sandbox.endpoint import Endpoint
from takeover.sandbox.engine import DockerEngine
from takeover.sandbox.errors import EngineUnavailable, ImageUnfit, MachineryError, SandboxDied, WireTimeout
from takeover.sandbox.items import plain_tree
from takeover.sandbox.limits import Limits
from takeover.sandbox.wiresandbox import Deadlines

pytestmark = pytest.mark.docker

LIMITS = Limits(wall=60)


@pytest.fixture
def token() -> str:
    return secrets.token_hex(6)


@pytest.fixture
def backstage(engine: DockerEngine) -> Backstage:
    return Backstage(engine.client)


def mark(token: str) -> dict[str, str]:
    return {"takeover.test": token}


def open_and_close(engine: DockerEngine, image: str, token: str) -> None:
    with engine.open(image, limits=LIMITS, labels=mark(token)):
        pass


def test_a_sandbox_leaves_nothing(engine: DockerEngine, image: str, backstage: Backstage, token: str) -> None:
    """One container while it is open, none afterwards, by success, error and interrupt alike."""
    for error in (None, RuntimeError, KeyboardInterrupt):
        with contextlib.suppress(*([error] if error else [])), engine.open(image, limits=LIMITS, labels=mark(token)):
            assert len(backstage.containers("takeover.test", token)) == 1
            if error:
                raise error

        assert backstage.containers("takeover.test", token) == set()


def test_an_open_sandbox_with_an_agent_at_work_ends_at_once(
    engine: DockerEngine, image: str, backstage: Backstage, token: str
) -> None:
    """Leaving by an exception does not wait for the agent."""
    began = time.monotonic()

    def interrupt(stream: int, data: bytes) -> None:
        raise KeyboardInterrupt

    def work() -> None:
        with engine.open(image, limits=LIMITS, labels=mark(token)) as sandbox:
            sandbox.run(["sh", "-c", "trap '' TERM; echo up; sleep 300"], wall=300, on_output=interrupt)

    with pytest.raises(KeyboardInterrupt):
        work()

    assert backstage.containers("takeover.test", token) == set()
    assert time.monotonic() - began < 20


def test_sandboxes_side_by_side(engine: DockerEngine, image: str) -> None:
    """Four threads share an engine; each gets its own sandbox."""

    def work(number: int) -> bytes:
        with engine.open(image, limits=LIMITS) as sandbox:
            sandbox.load(plain_tree({"n": str(number).encode()}))
            return sandbox.run(["cat", "n"]).stdout

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(8))) == [str(number).encode() for number in range(8)]


def test_a_sandbox_leaves_no_descriptor(engine: DockerEngine, image: str) -> None:
    """Opening and closing costs no file descriptor, also without the garbage collector."""

    def descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    open_and_close(engine, image, "warm")
    gc.disable()
    try:
        before = descriptors()
        for _ in range(4):
            open_and_close(engine, image, "again")
        assert descriptors() <= before
    finally:
        gc.enable()


def test_a_killed_container_is_told_with_what_killed_it(
    engine: DockerEngine, image: str, backstage: Backstage, token: str
) -> None:
    """Death in the middle of a command is a SandboxDied, not a result."""
    with engine.open(image, limits=LIMITS, labels=mark(token)) as sandbox:
        (container,) = backstage.containers("takeover.test", token)
        threading.Timer(0.3, backstage.kill, [container]).start()
        with pytest.raises(SandboxDied, match="outside"):
            sandbox.run(["sleep", "100"])

    assert backstage.containers("takeover.test", token) == set()


@contextlib.contextmanager
def derived(engine: DockerEngine, image: str, name: str, **config: Any) -> Iterator[str]:
    """An image made from the sandbox image by changing its settings."""
    container = engine.client.create_container(image, labels=labels.labels({}, engine.run))["Id"]
    try:
        made = engine.client.commit(container, repository="takeover-test", tag=name, conf=config)["Id"]
    finally:
        engine.client.remove_container(container, v=True)
    try:
        yield f"takeover-test:{name}"
    finally:
        engine.client.remove_image(made, force=True)


def test_an_agents_image_is_taken_as_it_is(engine: DockerEngine, image: str, token: str) -> None:
    """Its user, environment, entrypoint and command are the agent's; a volume becomes memory and leaves nothing."""
    config = {
        "User": "nobody",
        "Env": ["PATH=/usr/bin:/bin", "MODEL=x", "HOME=/elsewhere"],
        "Entrypoint": ["python3"],
        "Cmd": ["-c", "1"],
        "Volumes": {"/data": {}},
        "Healthcheck": {"Test": ["CMD", "false"]},
    }
    before = Backstage(engine.client).volumes()
    with derived(engine, image, token, **config) as agent, engine.open(agent, limits=LIMITS) as sandbox:
        told = sandbox.run(
            ["sh", "-c", "id -un; echo $MODEL $HOME; touch /workspace/x /data/x 2>&1; df /data | tail -1"]
        )
        assert Backstage(engine.client).volumes() == before

    lines = told.stdout.decode().splitlines()
    assert lines[:2] == ["nobody", "x /takeover-home"]
    assert lines[-1].startswith("tmpfs")
    assert sandbox.image.command == ("python3", "-c", "1")


def test_an_id_is_looked_up_once(engine: DockerEngine, image: str) -> None:
    """What an id names never changes, so a run asks for it once; a name may be given to another image."""
    known = engine.image(engine.image(image).id)

    assert engine.image(known.id) is known
    assert engine.image(image) is not engine.image(image)


def test_an_image_with_an_unknown_user_is_unfit(engine: DockerEngine, image: str, token: str) -> None:
    """What the image itself got wrong is said so, and leaves no container."""
    with derived(engine, image, token, User="no-such-user") as agent, pytest.raises(ImageUnfit):
        open_and_close(engine, agent, token)

    assert Backstage(engine.client).containers("takeover.test", token) == set()


def test_an_unknown_runtime_is_the_engines_fault(engine: DockerEngine, image: str, token: str) -> None:
    """A runtime that the engine does not have is named."""
    strange = DockerEngine(engine.client, engine.endpoint, run=engine.run, runtime="no-such-runtime")
    with pytest.raises(EngineUnavailable, match="no-such-runtime"):
        open_and_close(strange, image, token)

    assert Backstage(engine.client).containers("takeover.test", token) == set()


CHILD = """
import sys, time
from takeover.sandbox.engine import DockerEngine
from takeover.sandbox.limits import Limits
engine = DockerEngine.from_env(run=sys.argv[1])
with engine.open(sys.argv[2], limits=Limits(), labels={"takeover.test": sys.argv[3]}) as sandbox:
    sandbox.run(["sh", "-c", "trap '' TERM INT; echo up; sleep 300"], wall=300, on_output=lambda s, d: print("up", flush=True))
"""


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_who_dies_takes_its_sandbox_along(
    engine: DockerEngine, image: str, backstage: Backstage, token: str, by: signal.Signals
) -> None:
    """Killed in the middle of a session, even by SIGKILL, a process leaves no container."""
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(engine.run), image, token],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "up\n"
    assert len(backstage.containers("takeover.test", token)) == 1
    child.send_signal(by)
    child.wait(30)
    child.stdout.close()

    assert until(lambda: not backstage.containers("takeover.test", token))


def orphan(engine: DockerEngine, image: str, token: str, owner: str) -> str:
    """A container that was created and never started: no wire ends it."""
    carried = {**labels.labels(mark(token), engine.run), labels.OWNER: owner}
    return create(engine.client, image, host_config(LIMITS, (), None, inode_caps=False), carried)


def test_a_sweep_removes_orphans_and_no_neighbours(
    engine: DockerEngine, image: str, backstage: Backstage, token: str
) -> None:
    """Only containers whose owner is known to be gone; not those of a living process, of another host, or of others."""
    place, pid, start = labels.owner().rsplit("/", 2)
    dead = orphan(engine, image, token, f"{place}/{pid}/{int(start) - 1}")
    kept = {
        orphan(engine, image, token, labels.owner()),
        orphan(engine, image, token, f"{place}/1/{_start_of(1)}"),
        orphan(engine, image, token, f"another-host/pid:[1]/{pid}/1"),
    }
    foreign = engine.client.create_container(image, labels={"takeover.test": token})["Id"]
    try:
        removed = engine.sweep()
        assert dead in removed
        assert not kept & set(removed)
        assert backstage.containers("takeover.test", token) == kept
        assert engine.client.inspect_container(foreign)["Id"] == foreign
    finally:
        engine.client.remove_container(foreign)
        for container in kept:
            engine.client.remove_container(container)


def _start_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]


def test_a_sweep_of_a_run_or_an_age(engine: DockerEngine, image: str, backstage: Backstage, token: str) -> None:
    """`run` takes that run's containers, `older_than` those of that age, both what is both."""
    mine = DockerEngine(engine.client, engine.endpoint, run=f"run-{token}")
    containers = {orphan(mine, image, token, labels.owner()) for _ in range(2)}

    assert mine.sweep(run="another") == []
    assert mine.sweep(run=f"run-{token}", older_than=3600) == []
    assert set(mine.sweep(run=f"run-{token}")) == containers
    assert backstage.containers("takeover.test", token) == set()


@pytest.fixture
def forgiving() -> Iterator[None]:
    """The client leaves sockets that could not connect to the garbage collector; here they are no finding."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture
def proxied(forgiving: None, engine: DockerEngine, tmp_path: Path) -> Iterator[tuple[DockerEngine, Proxy]]:
    """The same engine behind a proxy, with little patience."""
    if not engine.endpoint.url.startswith("unix://"):
        pytest.skip("needs the engine's socket")
    path = tmp_path / "engine.sock"
    with unix_proxy(engine.endpoint.url.removeprefix("unix://"), path) as proxy:
        endpoint = Endpoint(f"unix://{path}", "test", named=True)
        deadlines = Deadlines(ready=5, answer=5, transfer=5, grace=5, goodbye=2)
        with contextlib.closing(connect(endpoint, 3)) as client:
            yield DockerEngine(client, endpoint, run=engine.run, deadlines=deadlines), proxy


@pytest.mark.parametrize("request_line", [b"/containers/create", b"/attach?", b"/start", b"/images/"])
def test_a_slow_engine_is_a_timeout(
    proxied: tuple[DockerEngine, Proxy], image: str, token: str, request_line: bytes
) -> None:
    """An engine that is stuck at any step is a WireTimeout: never a result, never a hang."""
    engine, proxy = proxied
    proxy.stall = request_line
    with pytest.raises(WireTimeout):
        open_and_close(engine, image, token)


def test_a_slow_end_does_not_hang(
    engine: DockerEngine, proxied: tuple[DockerEngine, Proxy], image: str, backstage: Backstage, token: str
) -> None:
    """An engine that does not answer whether the container is gone delays the end by its deadline only."""
    slow, proxy = proxied
    began = time.monotonic()
    with slow.open(image, limits=LIMITS, labels=mark(token)) as sandbox:
        proxy.stall = b"/wait?"
        assert sandbox.run(["true"]).ok

    assert time.monotonic() - began < 20
    assert until(lambda: not backstage.containers("takeover.test", token))


def test_an_engine_that_goes_away(
    engine: DockerEngine, proxied: tuple[DockerEngine, Proxy], image: str, backstage: Backstage, token: str
) -> None:
    """Its end in the middle of a command is an EngineUnavailable, and the sandbox ends with its wire."""
    leaving, proxy = proxied

    def work() -> None:
        with leaving.open(image, limits=LIMITS, labels=mark(token)) as sandbox:
            threading.Timer(0.3, proxy.close).start()
            sandbox.run(["sleep", "100"])

    with pytest.raises(EngineUnavailable):
        work()

    assert until(lambda: not backstage.containers("takeover.test", token))


def test_tcp(engine: DockerEngine, image: str) -> None:
    """The same over a plain TCP endpoint."""
    with tcp_proxy(engine.endpoint.url.removeprefix("unix://")) as port:
        exchange(Endpoint(f"tcp://127.0.0.1:{port}", "test", named=True), engine, image)


def test_tls(
    forgiving: None, engine: DockerEngine, image: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same over TLS with client certificates, found as Docker's own tools find them."""
    context = certificates(tmp_path)
    monkeypatch.setenv("DOCKER_TLS_VERIFY", "1")
    monkeypatch.setenv("DOCKER_CERT_PATH", str(tmp_path))
    with tcp_proxy(engine.endpoint.url.removeprefix("unix://"), context) as port:
        monkeypatch.setenv("DOCKER_HOST", f"tcp://127.0.0.1:{port}")
        secure = DockerEngine.from_env(run=engine.run)
        exchange(secure.endpoint, engine, image)
        secure.client.close()
        monkeypatch.delenv("DOCKER_TLS_VERIFY")
        monkeypatch.delenv("DOCKER_CERT_PATH")
        with pytest.raises(EngineUnavailable):
            DockerEngine.from_env(timeout=5)


def exchange(endpoint: Endpoint, engine: DockerEngine, image: str) -> None:
    """A few MiB both ways, a command, and a clean end."""
    data = os.urandom(1 << 20) * 4
    with contextlib.closing(connect(endpoint, 30)) as client:
        remote = DockerEngine(client, endpoint, run=engine.run)
        with remote.open(image, limits=LIMITS) as sandbox:
            sandbox.load(plain_tree({"f": data}))
            result = sandbox.run(["cat", "f"], output_limit=8 << 20)
            assert result.stdout == data
            with sandbox.open_process(["cat"]) as process:
                assert process.ask(b"x" * 500_000, 20) == b"x" * 500_000


def test_every_error_is_ours(engine: DockerEngine) -> None:
    """A missing image has a class, a sentence and a way out."""
    with pytest.raises(ImageUnfit) as caught:
        engine.image("no/such/image:at-all")

    assert isinstance(caught.value, MachineryError)
    assert "docker pull" in str(caught.value.hint)


def test_what_it_stands_on_is_told(engine: DockerEngine) -> None:
    """Version, kernel, control groups and runtime are known, for the record."""
    info = engine.info()

    assert info.version
    assert info.kernel
    assert info.cgroup.startswith("v")
    assert info.runtime
    assert info.cpus > 0
