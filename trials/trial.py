"""One trial from its claim to its recorded scorecard, whatever happens in between."""

from __future__ import annotations

import os
import threading
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..grader.scorecard import Scorecard, canonical_bytes
from ..sandbox.engine import Engine
from ..sandbox.errors import FailureClass, MachineryError, StorageError
from ..sandbox.store import SnapshotStore
from .failures import FAILURES
from .grading import Cell, failed
from .models import Models, finish_transcripts
from .plan import Settings, TrialSpec
from .poison_steps import without_verdict
from .record import TrialPaths, attempts_kept, claim, set_aside, write_bytes, write_json
from .signing import Signer
from .walk import Progressed, Stopped, Walk

ATTEMPTS = 2


@dataclass(frozen=True, slots=True)
class TrialContext:
    """What all trials of a run share. Once `stopping` is set nothing more is opened, tried again or recorded.

    `images` are the ids that the run froze, by name: a name may be given to another image meanwhile.
    """

    engine: Engine
    store: SnapshotStore
    settings: Settings
    signer: Signer
    run_id: str
    trials: Path
    images: Mapping[str, str] = field(default_factory=dict)
    about_engine: Mapping[str, object] = field(default_factory=dict)
    stopping: threading.Event = field(default_factory=threading.Event)
    models: Models | None = None

    def shown(self, text: str) -> str:
        """A text that is written down, without the keys of the run."""
        return text if self.models is None else self.models.redactor.text(text)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a trial ended, and how long it took in seconds."""

    name: str
    scorecard: Scorecard
    seconds: float


def run_trial(context: TrialContext, spec: TrialSpec) -> Outcome:
    """Run one trial to its scorecard; every failure becomes a recorded outcome."""
    paths = TrialPaths(context.trials / spec.name)
    started = time.time()
    if paths.claim.exists():
        finish_transcripts(set_aside(paths))
    while True:
        if not claim(paths, {"pid": os.getpid(), "run": context.run_id, "trial": spec.name}):
            raise StorageError(f"{paths.claim}: another process has claimed this trial")
        done = Progressed()
        scorecard = without_verdict(_attempt(context, spec, paths, done), spec)
        failure = scorecard.failure
        again = failure is not None and FAILURES[FailureClass(failure.kind)].retry
        if not again or attempts_kept(paths) + 1 >= ATTEMPTS:
            break
        set_aside(paths)
    record(paths, scorecard, context.signer)
    timing = {"started": started, "seconds": time.time() - started, "attempts": attempts_kept(paths) + 1}
    seen = {"steps": done.seconds, "troubles": done.troubles, "engine": dict(context.about_engine)}
    write_json(paths.timing, {**timing, **seen})
    return Outcome(name=spec.name, scorecard=scorecard, seconds=time.time() - started)


def record(paths: TrialPaths, scorecard: Scorecard, signer: Signer) -> None:
    """Write the scorecard and its signature; the signature first, so that a scorecard is never without one."""
    data = canonical_bytes(scorecard)
    write_bytes(paths.signature, signer.sign(data))
    write_bytes(paths.scorecard, data)


def _attempt(context: TrialContext, spec: TrialSpec, paths: TrialPaths, done: Progressed) -> Scorecard:
    walk = Walk(
        engine=context.engine,
        store=context.store,
        settings=context.settings,
        run_id=context.run_id,
        images=context.images,
        stopping=context.stopping,
        spec=spec,
        paths=paths,
        done=done,
        models=None if context.models is None else context.models.trial(spec.name),
    )
    try:
        return walk.scorecard()
    except Stopped:
        raise
    except MachineryError as error:
        if context.stopping.is_set():
            raise Stopped from error
        return failed(Cell.of(spec), error.failure, context.shown(str(error)), done.sessions)
    except Exception as error:  # noqa: BLE001  # the one boundary that records a trial's failure
        trace = context.shown(traceback.format_exc())
        write_bytes(paths.root / "error.log", trace.encode("utf-8", "replace"))
        return failed(
            Cell.of(spec), FailureClass.INTERNAL, context.shown(f"{type(error).__name__}: {error}"), done.sessions
        )
