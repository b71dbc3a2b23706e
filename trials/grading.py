"""Give the grader what it asks for: the bytes of a workspace, and a worker in a fresh sandbox to question."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import BinaryIO, Self

from .. import __version__
from ..grader.answers import Channel, SubjectGone
from ..grader.grade import Beside, Trial, Workspace, grade, readable_sources
from ..grader.sanitize import sanitized
from ..grader.scorecard import Failure, Outcome, Provenance, Scorecard, Session, Tokens
from ..grader.worker import ENVIRONMENT, LOADABLE, RestartingChannel, command, worth_loading
from ..sandbox.engine import Opener
from ..sandbox.errors import FailureClass, WorkspaceTooLarge
from ..sandbox.guest_bundle import guest_sha256
from ..sandbox.images import SANDBOX
from ..sandbox.limits import GIB, MIB, Limits
from ..sandbox.sandbox import WORKSPACE, Process, ProcessGone, Sandbox
from ..sandbox.snapshot import Snapshot, room_needed
from ..sandbox.store import SnapshotStore
from ..sandbox.tree import Manifest, TreeItem
from ..tiers.trialtask import TrialTask
from .failures import FAILURES, Side
from .plan import TrialSpec
from .repo_grading import beside
from .tasks import codebase
from .toolkit import toolkit_sha256

# What one line of the worker may hold; an honest answer is far shorter.
MAX_LINE = 4 * MIB
# The sandbox in which questions are answered, for a task with the usual limits.
NO_TOKENS = Tokens()
SUBJECT_LIMITS = Limits(memory=2 * GIB, workspace=GIB, pids=128, wall=1200.0, tmp=64 * MIB, home=16 * MIB)


@dataclass(frozen=True, slots=True)
class Cell:
    """Whose workspace is graded."""

    task: TrialTask
    arm: str
    arm_sha256: str | None
    agent: str
    repetition: int = 1

    @classmethod
    def of(cls, spec: TrialSpec) -> Self:
        """The cell of a planned trial."""
        return cls(spec.task, spec.arm.name, spec.arm.sha256, spec.agent_name, spec.repetition)


def declared(tokens: int | None) -> Tokens:
    """What somebody says that the work took."""
    return NO_TOKENS if tokens is None else Tokens(total=tokens, provenance="declared")


def subject_limits(task: TrialTask) -> Limits:
    """The limits of the sandbox in which questions are answered: whatever a session may leave has room in it, and
    beside that the code under test always has a GiB."""
    room = task.limits.workspace
    return replace(SUBJECT_LIMITS, memory=room + GIB, workspace=room, inodes=task.limits.inodes)


def must_fit(left: Snapshot, limits: Limits) -> None:
    """WorkspaceTooLarge unless a workspace can be loaded into a sandbox with the limits of the one that it is from."""
    needed, count = room_needed(left.manifest), len(left.manifest)
    if needed > limits.workspace or count >= limits.inodes:
        raise WorkspaceTooLarge(
            f"what was left needs {needed} bytes and {count} files, of {limits.workspace} and {limits.inodes}"
        )


@dataclass(frozen=True, slots=True)
class Grader:
    """Grades workspaces of a snapshot store with sandboxes of an engine."""

    engine: Opener
    store: SnapshotStore
    labels: Mapping[str, str]

    def grade(
        self,
        cell: Cell,
        start: Manifest,
        final: Snapshot,
        *,
        tokens: Tokens = NO_TOKENS,
        sessions: Sequence[Session] = (),
        agent_image: str | None = None,
        start_sha256: str | None = None,
    ) -> Scorecard:
        """The scorecard of a workspace; a MachineryError if there is no verdict."""
        must_fit(final, cell.task.limits)
        wanted = readable_sources(final.manifest)
        sources = self.store.read_files(final.sha256, lambda item: item.path in wanted, limit=1 << 31)
        with self._beside(cell.task, final, sources) as more:
            return grade(
                cell.task,
                Trial(arm=cell.arm, agent=cell.agent, repetition=cell.repetition),
                start,
                Workspace(final.manifest, sources, [(one.path, one.reason) for one in final.omitted]),
                lambda: self._questions(final, subject_limits(cell.task), worth_loading(sources.values())),
                tokens=tokens,
                sessions=sessions,
                provenance=provenance(cell, agent_image=agent_image, start_sha256=start_sha256),
                beside=more,
            )

    @contextlib.contextmanager
    def _beside(self, task: TrialTask, final: Snapshot, sources: Mapping[str, bytes]) -> Iterator[Callable[[], Beside]]:
        """What a real codebase adds to the verdict, begun at once: its own tests take longer than the probes."""
        if (code := codebase(task)) is None:
            yield Beside
            return
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="beside") as pool:
            yield pool.submit(beside, self.engine, self.store, code, final, sources, self.labels).result

    @contextlib.contextmanager
    def _questions(self, final: Snapshot, limits: Limits, load: tuple[str, ...]) -> Iterator[Channel]:
        """A channel to workers over a fresh sandbox that holds the workspace without what must not be run."""
        items = sanitized(self.store.open(final.sha256))
        with questions(self.engine, items, limits, self.labels, load) as channel:
            yield channel


@contextlib.contextmanager
def questions(
    engine: Opener,
    items: Iterable[tuple[TreeItem, BinaryIO | bytes]],
    limits: Limits,
    labels: Mapping[str, str],
    load: tuple[str, ...] = LOADABLE,
) -> Iterator[Channel]:
    """A channel to workers over a fresh sandbox that holds these files; they start with these modules loaded."""
    with engine.open(SANDBOX, limits=limits, labels=labels) as sandbox:
        # Sealed: what one check's code leaves behind cannot change the sources that the next one imports.
        sandbox.load(items, sealed=True)
        with RestartingChannel(lambda: _worker(sandbox, load)) as channel:
            yield channel


@contextlib.contextmanager
def _worker(sandbox: Sandbox, load: tuple[str, ...]) -> Iterator[Channel]:
    # Started in "/": Python puts the working directory on its path before the worker can take it off.
    argv = command(WORKSPACE, load=load)
    with sandbox.open_process(argv, env=ENVIRONMENT, cwd="/", wall=SUBJECT_LIMITS.wall) as process:
        yield _ProcessChannel(process)


@dataclass(frozen=True, slots=True)
class _ProcessChannel:
    process: Process

    def ask(self, request: bytes, timeout: float) -> bytes:
        try:
            line = self.process.ask(request, timeout)
        except ProcessGone as gone:
            raise SubjectGone("timeout" if gone.timed_out else "died", str(gone)) from gone
        if len(line) > MAX_LINE:
            raise SubjectGone("garbled", "the answer is longer than any answer")
        return line


def provenance(cell: Cell, *, agent_image: str | None, start_sha256: str | None) -> Provenance:
    """What made a verdict."""
    return Provenance(
        toolkit=__version__,
        toolkit_sha256=toolkit_sha256(),
        task_sha256=cell.task.sha256,
        agent_image=agent_image,
        guest_sha256=guest_sha256(),
        arm_sha256=cell.arm_sha256,
        start_snapshot=start_sha256,
    )


def failed(cell: Cell, kind: FailureClass, message: str, sessions: Sequence[Session] = ()) -> Scorecard:
    """The scorecard of a trial without a verdict, and the reason; the table says on whose side it lies."""
    side = FAILURES[kind].side
    outcomes: dict[Side, Outcome] = {"agent": "agent_failure", "machinery": "machinery_failure", "poison": "refused"}
    return Scorecard(
        task=cell.task.id,
        variant=int(cell.task.variant) if cell.task.variant.isdecimal() else cell.task.variant,
        arm=cell.arm,
        agent=cell.agent,
        repetition=cell.repetition,
        outcome=outcomes[side],
        failure=Failure(kind=kind.value, side=side, message=message[:2000]),
        sessions=list(sessions),
        provenance=provenance(cell, agent_image=None, start_sha256=None),
    )
