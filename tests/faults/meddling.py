"""Plans of agents that are shell scripts, and an engine that something happens to before it opens a sandbox."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from trialruns import Silent

from takeover.sandbox.cutoff import CutoffRule
from takeover.sandbox.engine import NO_LABELS, Engine, EngineInfo
from takeover.sandbox.limits import Limits
from takeover.sandbox.sandbox import ImageInfo, Sandbox
from takeover.tiers.arms import load_arm
from takeover.tiers.load import load_task
from takeover.tiers.task import Task
from takeover.trials.agents import Agent
from takeover.trials.plan import Plan, Settings, make_plan
from takeover.trials.record import RunPaths
from takeover.trials.running import RunResult, execute
from takeover.trials.signing import Signer

TASK = "tier2_fintech"


def scripted(name: str, script: str, image: str = "sandbox") -> Agent:
    """An agent that is a shell script; it works in both sessions and knows which by $TAKEOVER_SESSION."""
    return Agent(name=name, image=image, command=("sh", "-c", script))


def plan_for(
    *agents: Agent, arm: str = "Vanilla", cutoff: str | None = "none", task: Task | None = None, repeat: int = 1
) -> Plan:
    """A run of these agents, by default one in which no session is cut off."""
    loaded = task or load_task(TASK)
    settings = Settings(cutoff=None if cutoff is None else CutoffRule(cutoff))  # type: ignore[arg-type]
    return make_plan([(loaded, load_arm(arm, loaded))], agents, repeat=repeat, settings=settings)


def carry_out(
    engine: Engine,
    folder: Path,
    plan: Plan,
    key: Signer,
    *,
    parallel: int = 2,
    resume: bool = False,
    retry_machinery: bool = False,
) -> tuple[RunResult, Silent]:
    """Run a plan in a folder; the result, and what a person saw."""
    seen = Silent()
    result = execute(
        plan,
        engine=engine,
        paths=RunPaths(folder),
        signer=key,
        resume=resume,
        parallel=parallel,
        progress=seen,
        retry_machinery=retry_machinery,
    )
    return result, seen


class Meddled:
    """An engine; `before(number, image)` is called before each sandbox is opened, the first being number 1."""

    def __init__(self, engine: Engine, before: Callable[[int, str], object]) -> None:
        self._engine = engine
        self._before = before
        self._lock = threading.Lock()
        self._opened = 0

    def open(
        self, image: str, *, limits: Limits, labels: Mapping[str, str] = NO_LABELS
    ) -> AbstractContextManager[Sandbox]:
        with self._lock:
            self._opened += 1
            self._before(self._opened, image)
        return self._engine.open(image, limits=limits, labels=labels)

    def image(self, ref: str) -> ImageInfo:
        return self._engine.image(ref)

    def info(self) -> EngineInfo:
        return self._engine.info()

    def sweep(self, *, older_than: float | None = None, run: str | None = None) -> Sequence[str]:
        return self._engine.sweep(older_than=older_than, run=run)
