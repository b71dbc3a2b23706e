"""Sandboxes and whole trials beside `docker run --rm --network none IMAGE true`."""

from __future__ import annotations

import itertools
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import docker

from takeover.sandbox.engine import DockerEngine
from takeover.sandbox.images import SANDBOX, resolve
from takeover.sandbox.items import plain_tree
from takeover.sandbox.limits import Limits
from takeover.sandbox.store import SnapshotStore
from takeover.tiers.arms import load_arm
from takeover.tiers.load import load_task
from takeover.trials.agents import resolve_agent
from takeover.trials.plan import Settings, TrialSpec, make_plan
from takeover.trials.signing import signer
from takeover.trials.trial import TrialContext, run_trial

from .rows import Row, interleaved

IMAGE = resolve("sandbox")
PARALLEL = 4
FILES = {f"pkg{n % 10}/module_{n}.py": (f"x = {n}\n" * 700).encode() for n in range(200)}


def bare_run() -> None:
    """The floor: a container that does nothing."""
    command = ["docker", "run", "--rm", "--network", "none", IMAGE, "true"]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def bare_calls(client: docker.DockerClient) -> None:
    """The same by the API: create, start, wait, remove."""
    container = client.containers.create(IMAGE, ["true"], network_mode="none")
    container.start()
    container.wait()
    container.remove()


def sandbox_rows(engine: DockerEngine, rounds: int) -> Iterator[Row]:
    """Create, load 200 files, ready, export, remove."""
    with tempfile.TemporaryDirectory() as folder:
        store = SnapshotStore(Path(folder))

        def sandbox() -> None:
            with engine.open(IMAGE, limits=Limits()) as box:
                box.load(plain_tree(FILES))
                with store.writer() as writer:
                    box.export(writer)
                    assert len(writer.finish().manifest) == len(FILES) + 10

        ours, floor = interleaved([sandbox, bare_run], rounds)
        yield Row("sandbox: create, load 200 files, export, remove", ours, "s", floor, 1.5)


def trial_rows(engine: DockerEngine, rounds: int) -> Iterator[Row]:
    """A whole two-session trial with a scripted agent, graded; then four at a time."""
    with tempfile.TemporaryDirectory() as folder:
        trial = _trials(engine, Path(folder))
        ours, floor = interleaved([trial, bare_run], rounds)
        yield Row("trial: two sessions and grading", ours, "s", floor, 3.5)

        client = docker.from_env()
        count = PARALLEL * max(2, rounds // 2)
        each = _side_by_side(trial, count)
        # Three sandboxes make a trial: two sessions and the one in which it is graded.
        bare = 3 * _side_by_side(lambda: bare_calls(client), count)
        yield Row(
            f"trials, {PARALLEL} at a time",
            each,
            "s",
            bare,
            1.3,
            note=f"{60 / each:.0f} trials a minute; floor: 3 containers",
        )


def _trials(engine: DockerEngine, folder: Path) -> Callable[[], None]:
    task = load_task("tier2_fintech")
    plan = make_plan([(task, load_arm("State_MD_Only", task))], [resolve_agent("note-taker")])
    context = TrialContext(
        engine=engine,
        store=SnapshotStore(folder / "snapshots"),
        settings=Settings(),
        signer=signer(),
        run_id="bench",
        trials=folder / "trials",
        # As a run does it: names are looked up once, at its start.
        images={SANDBOX: engine.image(SANDBOX).id},
    )
    numbers = itertools.count(1)

    def trial() -> None:
        spec: TrialSpec = replace(plan.trials[0], repetition=next(numbers))
        card = run_trial(context, spec).scorecard
        assert card.retention is not None
        assert card.retention.net == 8

    return trial


def _side_by_side(work: Callable[[], None], count: int) -> float:
    """Seconds for each of `count` works, four at a time."""
    with ThreadPoolExecutor(PARALLEL) as pool:
        start = time.perf_counter()
        list(pool.map(lambda _: work(), range(count)))
        return (time.perf_counter() - start) / count
