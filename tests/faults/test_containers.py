"""Leaked containers, address pools used up, neighbours swept away, names that are taken: sandboxes share nothing."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from meddling import Meddled, carry_out, plan_for, scripted

from takeover.sandbox import labels
from takeover.sandbox.container import create, host_config
from takeover.sandbox.engine import DockerEngine
from takeover.sandbox.errors import ChecksBroken
from takeover.sandbox.limits import MIB, Limits
from takeover.trials.grading import Grader
from takeover.trials.signing import Signer

pytestmark = pytest.mark.docker

AT_ONCE = 40
TINY = Limits(memory=64 * MIB, pids=32, workspace=8 * MIB, tmp=4 * MIB, home=4 * MIB, shm=4 * MIB)


def of_run(engine: DockerEngine, run: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = engine.client.containers(all=True, filters={"label": [f"takeover.run={run}"]})
    return found


def test_forty_at_once_use_no_network(engine: DockerEngine) -> None:
    """More sandboxes than the engine has address pools stand open together; no network is made, none is left."""
    run = f"forty-{secrets.token_hex(4)}"
    networks = lambda: sorted(one["Id"] for one in engine.client.networks())
    before, all_open, seen = networks(), threading.Barrier(AT_ONCE, timeout=120), []

    def work(number: int) -> bytes:
        with engine.open("sandbox", limits=TINY, labels=labels.run_labels(run, "t")) as sandbox:
            if all_open.wait() == 0:
                seen.append((networks(), of_run(engine, run)))
            return sandbox.run(["echo", str(number)]).stdout

    with ThreadPoolExecutor(AT_ONCE) as pool:
        told = list(pool.map(work, range(AT_ONCE)))

    ((during, containers),) = seen
    assert told == [b"%d\n" % number for number in range(AT_ONCE)]
    assert during == networks() == before
    assert len(containers) == AT_ONCE
    assert {one["HostConfig"]["NetworkMode"] for one in containers} == {"none"}  # type: ignore[index]
    assert of_run(engine, run) == []


def test_a_name_that_is_taken_is_in_nobodys_way(engine: DockerEngine, tmp_path: Path, key: Signer) -> None:
    """Ghosts named after the run, its trial and its image change nothing."""
    run = f"ghost-{secrets.token_hex(4)}"
    names = [run, f"{run}-tier2_fintech.Vanilla.idle.1", f"takeover-{run}"]
    for name in names:
        engine.client.create_container("takeover-sandbox:latest", name=name)
    try:
        result, _ = carry_out(engine, tmp_path / run, plan_for(scripted("idle", "true")), key)
        assert [card.outcome for card in result.scorecards.values()] == ["graded"]
        assert all(engine.client.inspect_container(name) for name in names)
    finally:
        for name in names:
            engine.client.remove_container(name)


def test_two_runs_of_one_name_do_not_touch_each_other(engine: DockerEngine) -> None:
    """A run that ends sweeps what it opened itself, and what a dead one of its name left; a living neighbour stays."""
    run = f"twins-{secrets.token_hex(4)}"
    place, pid, start = labels.owner().rsplit("/", 2)

    def container(owner: str) -> str:
        carried = {**labels.labels(labels.run_labels(run, "t"), None), labels.OWNER: owner}
        return create(engine.client, "takeover-sandbox:latest", host_config(TINY, (), None, inode_caps=False), carried)

    one = int(Path("/proc/1/stat").read_text().rpartition(")")[2].split()[19])
    neighbour = container(f"{place}/1/{one}")
    mine, orphan = container(labels.owner()), container(f"{place}/{pid}/{int(start) - 1}")
    try:
        assert set(engine.sweep(run=run)) == {mine, orphan}
        assert [one["Id"] for one in of_run(engine, run)] == [neighbour]
    finally:
        engine.client.remove_container(neighbour)


def test_a_container_that_came_too_late_is_swept_at_the_end(engine: DockerEngine, tmp_path: Path, key: Signer) -> None:
    """One that the engine created after the client had given it up is gone when the run is."""
    run = f"late-{secrets.token_hex(4)}"

    def too_late(number: int, _image: str) -> None:
        if number == 2:
            carried = labels.labels(labels.run_labels(run, "t"), run)
            create(engine.client, "takeover-sandbox:latest", host_config(TINY, (), None, inode_caps=False), carried)

    carry_out(Meddled(engine, too_late), tmp_path / run, plan_for(scripted("idle", "true")), key)

    assert of_run(engine, run) == []


def test_what_fails_in_grading_leaves_nothing_for_the_collector(
    engine: DockerEngine, tmp_path: Path, key: Signer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the error is told, its containers are gone already, without any help of the garbage collector."""
    run = f"raised-{secrets.token_hex(4)}"

    @contextlib.contextmanager
    def broken(self: Grader, *_: object) -> Iterator[None]:
        with self.engine.open("sandbox", limits=TINY, labels=self.labels):
            raise ChecksBroken("in the middle")
        yield

    monkeypatch.setattr(Grader, "_questions", broken)
    gc.disable()
    try:
        result, _ = carry_out(engine, tmp_path / run, plan_for(scripted("idle", "true")), key)
    finally:
        gc.enable()

    assert [card.outcome for card in result.scorecards.values()] == ["machinery_failure"]
    assert of_run(engine, run) == []


HOLDER = """
import sys, time
from concurrent.futures import ThreadPoolExecutor
from takeover.sandbox.engine import DockerEngine
from takeover.sandbox.limits import Limits
engine = DockerEngine.from_env(run=sys.argv[1])
def hold(number):
    with engine.open("sandbox", limits=Limits()) as sandbox:
        sandbox.run(["sh", "-c", "trap '' TERM; echo up; sleep 300 & sleep 300"], wall=300, on_output=lambda s, d: print("up", flush=True))
with ThreadPoolExecutor(4) as pool: list(pool.map(hold, range(4)))
"""


def test_a_killed_process_with_many_sandboxes_leaves_none(engine: DockerEngine) -> None:
    """kill -9 of one that holds four: every container ends with its wire, within seconds."""
    run = f"held-{secrets.token_hex(4)}"
    child = subprocess.Popen([sys.executable, "-c", HOLDER, run], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    for _ in range(4):
        assert child.stdout.readline() == "up\n"
    assert len(of_run(engine, run)) == 4
    child.kill()
    child.wait()
    child.stdout.close()
    end = time.monotonic() + 20
    while of_run(engine, run) and time.monotonic() < end:
        time.sleep(0.2)

    assert of_run(engine, run) == []


def test_an_image_that_is_rebuilt_in_the_middle_changes_nothing(
    engine: DockerEngine, tmp_path: Path, key: Signer
) -> None:
    """The run goes on with the image that it froze, though its name now means another."""
    name = f"takeover-test-moved:{secrets.token_hex(4)}"
    repository, label = name.split(":")

    def built(what: str) -> str:
        container = engine.client.create_container("takeover-sandbox:latest")["Id"]
        try:
            conf = {"Env": ["PATH=/usr/bin:/bin", f"WHICH={what}"]}
            made: str = engine.client.commit(container, repository=repository, tag=label, conf=conf)["Id"]
        finally:
            engine.client.remove_container(container)
        return made

    images = [built("first")]

    def move(number: int, _image: str) -> None:
        if number == 2:
            images.append(built("second"))

    try:
        plan = plan_for(scripted("moved", "echo $WHICH", name), repeat=2)
        result, _ = carry_out(Meddled(engine, move), tmp_path / f"moved-{label}", plan, key, parallel=1)
        logs = [result.paths.trial(one).step(n, "session").output.read_text() for one in result.planned for n in (1, 2)]
        frozen = json.loads(result.paths.identity.read_bytes())["images"][name]

        assert set(logs) == {"first\n"}
        assert {card.provenance.agent_image for card in result.scorecards.values()} == {frozen}
    finally:
        for made in images:
            engine.client.remove_image(made, force=True)


def test_what_a_run_stood_on_is_written_down(engine: DockerEngine, tmp_path: Path, key: Signer) -> None:
    """Engine, kernel, control groups and guest: who finds another result elsewhere can see what differs."""
    result, _ = carry_out(engine, tmp_path / f"stood-{os.getpid()}", plan_for(scripted("idle", "true")), key)
    trial = result.paths.trial(result.planned[0])
    timing = json.loads(trial.timing.read_bytes())
    guest = json.loads(trial.step(1, "session").meta.read_bytes())["guest"]

    assert {"version", "api", "kernel", "cgroup", "runtime", "seccomp", "rootless"} <= set(timing["engine"])
    assert timing["engine"]["version"] == engine.info().version
    assert {"python", "kernel", "barrier", "uid"} <= set(guest)
    assert json.loads(result.paths.identity.read_bytes())["guest_sha256"]
