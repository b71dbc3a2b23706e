"""From a workspace's bytes to its scorecard. Nothing of Docker here: whoever calls hands in a way to ask questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from ..sandbox.tree import Manifest
from ..tiers.task import matches
from ..tiers.trialtask import GradedTask
from .answers import Channel
from .boundaries import (
    MAX_SOURCE,
    MAX_TOTAL,
    BoundaryReport,
    Violation,
    check_boundaries,
    is_source,
    read_workspace,
)
from .checks import CheckResult, run_checks
from .modules import module_name
from .protected import protected_edits
from .retention import retention
from .scorecard import Note, Provenance, Scorecard, Session, Tokens
from .subject import Subject
from .text import path_text

ChannelFactory = Callable[[], AbstractContextManager[Channel]]
MAX_PROBED = 500
MAX_UNREAD = 40


@dataclass(frozen=True)
class Trial:
    """Which trial is graded."""

    arm: str
    agent: str
    repetition: int = 1


@dataclass(frozen=True)
class Workspace:
    """A workspace that came out of a sandbox: its manifest, the sources that `readable_sources` names, and whether
    everything came out (`omitted` are the paths that did not, with the reason)."""

    manifest: Manifest
    sources: Mapping[str, bytes]
    omitted: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Beside:
    """What belongs to a verdict and is found out beside the hidden checks: baseline checks, and notes."""

    checks: tuple[CheckResult, ...] = ()
    notes: tuple[Note, ...] = ()


def readable_sources(manifest: Manifest) -> frozenset[str]:
    """The paths of a workspace whose contents the boundary check reads, within its limits."""
    total, wanted = 0, set()
    for path, item in manifest.items():
        if item.kind == "f" and is_source(path) and item.size <= MAX_SOURCE and total + item.size <= MAX_TOTAL:
            total += item.size
            wanted.add(path)
    return frozenset(wanted)


def grade(
    task: GradedTask,
    trial: Trial,
    start: Manifest,
    final: Workspace,
    ask: ChannelFactory,
    *,
    tokens: Tokens,
    sessions: Sequence[Session],
    provenance: Provenance,
    beside: Callable[[], Beside] = Beside,
) -> Scorecard:
    """The scorecard of a finished trial.

    `ask` opens a channel to a worker over a fresh sandbox that holds the sanitized final workspace; `start` is the
    workspace that the first session was given. `beside` is asked once the checks are done. MachineryError when our own
    side failed: then there is no verdict.
    """
    # Read while the sandbox is furnished and the checks run.
    with ThreadPoolExecutor(1, "reading") as pool, ask() as channel:
        reading = pool.submit(read_workspace, final.manifest, final.sources, task.boundaries)
        run = run_checks(task.checks_dir, task.parameters, channel, (*task.requirements, *task.baseline))
        bound = frozenset(rule.package for rule in task.boundaries)
        observed = run.imports | _probe(channel, bound, final.manifest)
        report = check_boundaries(
            final.manifest, final.sources, task.boundaries, task.guarded, observed, reading=reading.result()
        )
        report = _with_unread(channel, bound, report)
    more = beside()
    verdict = retention(
        replace(run, results=(*run.results, *more.checks)),
        task.requirements,
        protected_edits(start, final.manifest, lambda path: matches(path, task.protected)),
        report,
        tokens=tokens.total,
        budget=task.budget_tokens,
        notes=[
            *(Note(kind="incomplete_snapshot", path=path_text(p), detail=why) for p, why in final.omitted[:50]),
            *more.notes,
        ],
    )
    return Scorecard(
        task=task.id,
        variant=int(task.variant) if task.variant.isdecimal() else task.variant,
        arm=trial.arm,
        agent=trial.agent,
        repetition=trial.repetition,
        outcome="graded",
        retention=verdict,
        tokens=tokens.model_copy(update={"budget": task.budget_tokens}),
        sessions=list(sessions),
        provenance=provenance,
    )


def _probe(channel: Channel, bound: frozenset[str], manifest: Manifest) -> frozenset[tuple[str, str]]:
    """What the modules of the bound packages are seen to import when each is imported once."""
    names = [name for path in manifest if is_source(path) and (name := module_name(path))]
    wanted = [name for name in names if name.partition(".")[0] in bound][:MAX_PROBED]
    subject = Subject(channel)
    if wanted:
        subject.run([{"op": "import", "module": name} for name in wanted])
    return frozenset(subject.imports)


def _with_unread(channel: Channel, bound: frozenset[str], report: BoundaryReport) -> BoundaryReport:
    """A module of a bound package that Python runs and our reader cannot read hides what it imports: a violation."""
    subject = Subject(channel)
    found = set(report.violations)
    for one in report.unparsable[:MAX_UNREAD]:
        name = module_name(one.path)
        package = (name or "").partition(".")[0]
        if name and package in bound and subject.import_module(name) == None:
            found.add(Violation(one.path, 0, package, "unknown", f"runs, but cannot be read ({one.reason})"))
    return replace(report, violations=tuple(sorted(found)))
