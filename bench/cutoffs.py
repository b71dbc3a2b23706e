"""What gets past a cutoff: every form of edit, each followed at once by a commit or a second edit, under load."""

from __future__ import annotations

import importlib.util
import itertools
import json
import multiprocessing
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from takeover.sandbox.cutoff import parse
from takeover.sandbox.engine import DockerEngine
from takeover.sandbox.images import resolve
from takeover.sandbox.limits import Limits
from takeover.sandbox.sandbox import Sandbox

from .rows import Row

FORMS = Path(__file__).parents[1] / "tests" / "sandbox" / "guest" / "forms.py"
WHO = {f"GIT_{role}_{what}": "bench@example.com" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
# Without user notification the guest has inotify alone: the sandbox as it would be without the barrier.
NO_LISTENER = {
    "defaultAction": "SCMP_ACT_ALLOW",
    "syscalls": [{"names": ["seccomp"], "action": "SCMP_ACT_ERRNO"}],
}


def cutoff_rows(engine: DockerEngine, cuts: int) -> Iterator[Row]:
    """Commits and second edits that got past the cut, with the barrier and without."""
    forms = _forms()
    with _load(2):
        with_barrier = _past(engine, forms, cuts)
    yield Row("cutoff: commits that got past", with_barrier["commits"], f"of {cuts}", target=0, judged="value")
    yield Row("cutoff: second edits that got past", with_barrier["seconds"], f"of {cuts}", target=0, judged="value")
    yield Row("cutoff: sessions that were not cut", with_barrier["uncut"], f"of {cuts}", target=0, judged="value")
    bare = DockerEngine.from_env(
        unsafe_overrides={"security_opt": ["no-new-privileges", f"seccomp={json.dumps(NO_LISTENER)}"]}
    )
    with _load(2):
        without = _past(bare, forms, cuts)
    assert without["exact"] == 0, "the run without the barrier had one"
    past = without["commits"] + without["seconds"]
    yield Row(
        "without the barrier: commits and second edits", past, f"of {cuts}", note="so that the test is known to bite"
    )


def _past(engine: DockerEngine, forms: ModuleType, cuts: int) -> Counter[str]:
    found: Counter[str] = Counter()
    pairs = itertools.cycle(itertools.product(forms.EDITS, ("commit", "second")))
    with engine.open(resolve("sandbox"), limits=Limits()) as box:
        _sh(box, forms.BASE)
        for form, follower in itertools.islice(pairs, cuts):
            _sh(box, forms.RESET)
            run = box.run(form.command(follower), env=WHO, cutoff=parse("first-edit"), wall=60)
            commits, second = _sh(box, forms.INSPECT).split()
            found["uncut"] += run.how != "cutoff"
            found["exact"] += run.mode == "exact"
            found["commits"] += int(commits) > forms.COMMITS
            found["seconds"] += second == "yes"
    return found


def _sh(box: Sandbox, script: str) -> str:
    result = box.run(["sh", "-c", script], env=WHO, cwd="/tmp", wall=60)
    assert result.ok, result.stderr
    return result.stdout.decode()


def _forms() -> ModuleType:
    spec = importlib.util.spec_from_file_location("forms", FORMS)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["forms"] = module
    spec.loader.exec_module(module)
    return module


class _load:  # reads as a statement
    """Keeps so many cores busy for as long as the context lasts."""

    def __init__(self, cores: int) -> None:
        context = multiprocessing.get_context("forkserver")
        self._spinners = [context.Process(target=_spin, daemon=True) for _ in range(cores)]

    def __enter__(self) -> None:
        for spinner in self._spinners:
            spinner.start()

    def __exit__(self, *_: object) -> None:
        for spinner in self._spinners:
            spinner.kill()
            spinner.join()


def _spin() -> None:
    while True:
        pass
