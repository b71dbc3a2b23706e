"""A task on a real codebase: the release an agent gets, what is wrong with it, what of that a prompt says.

repos/<task>/
  task.yaml         script, history, what is protected, the release's own tests (`schema.RepoTaskForm`)
  bugs.yaml         the release by name and hash, and its bugs with a probe each (`schema.BugsForm`)
  reference.yaml    edits of our own that mend each bug (`schema.ReferenceForm`)
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ..sandbox.cutoff import CutoffRule, parse
from ..sandbox.limits import Limits
from ..sandbox.workspace import CommitSpec
from ..tiers.boundaries import Boundary, Wiring
from ..tiers.task import HistoryItem, SessionStep, Step
from ..tiers.template import render
from .paths import chosen, within
from .probes import Bug, Bugs, Selection, checks_folder, checks_source

NO_WIRING = Wiring((), ())
GITIGNORE = ".gitignore"
IGNORED = b"__pycache__/\n*.pyc\n*.egg-info/\n.pytest_cache/\n.venv/\nbuild/\ndist/\n"


@dataclass(frozen=True, slots=True)
class Visible:
    """The release's own tests, and how many of them pass at base. `seconds` is what they may take."""

    image: str
    python: str
    arguments: tuple[str, ...]
    canaries: str
    environment: Mapping[str, str]
    passed: int
    seconds: int


@dataclass(frozen=True)
class RepoTask:
    """A selection of a codebase's bugs, as a task. Its files are fetched when they are first needed."""

    id: str
    tier: int
    title: str
    summary: str
    chosen: Selection
    bugs: tuple[Bug, ...]
    known: Bugs
    steps: tuple[Step, ...]
    folders: tuple[str, ...]
    package: str
    dropped: tuple[str, ...]
    guards: tuple[str, ...]
    visible: Visible | None
    budget_tokens: int
    budget_reason: str
    limits: Limits
    commits: tuple[HistoryItem, ...]
    prompts: Mapping[str, str]
    root: Path
    folder_sha256: str
    release: Callable[[], Mapping[str, bytes]]

    @property
    def variant(self) -> str:
        """The selection, as a scorecard keeps it."""
        return self.chosen.text

    @property
    def parameters(self) -> Mapping[str, object]:
        """None: the probes carry what is expected."""
        return {}

    @property
    def requirements(self) -> tuple[str, ...]:
        """One hidden check for each bug, by its id."""
        return tuple(bug.id for bug in self.bugs)

    @property
    def baseline(self) -> tuple[str, ...]:
        """None of the hidden checks; the release's own tests stand for the original behaviour."""
        return ()

    @property
    def codebase(self) -> bool:
        """Somebody's real code."""
        return True

    @property
    def images(self) -> tuple[str, ...]:
        """The one that the release's own tests run in."""
        return (self.visible.image,) if self.visible else ()

    @property
    def grade(self) -> tuple[str, ...]:
        """The graders of the verdict."""
        return ("retention",)

    @property
    def wiring(self) -> Wiring:
        """No boundaries."""
        return NO_WIRING

    @property
    def guarded(self) -> tuple[str, ...]:
        """No package is bound to boundaries."""
        return ()

    @property
    def boundaries(self) -> tuple[Boundary, ...]:
        """None."""
        return ()

    @cached_property
    def files(self) -> Mapping[str, bytes]:
        """What a repository of the release holds: its source distribution without what packaging added to it."""
        release = self.release()
        kept = {path: data for path, data in sorted(release.items()) if not within(path, self.dropped)}
        return {GITIGNORE: IGNORED, **kept}

    @cached_property
    def protected(self) -> tuple[str, ...]:
        """Every file that must end as it was, as globs that fit it alone."""
        return tuple(_literal(path) for path in chosen(self.files, self.guards))

    @property
    def checks_dir(self) -> Path:
        """The folder of the hidden checks, made for this selection."""
        return checks_folder(checks_source(self.bugs, self.folders))

    @cached_property
    def history(self) -> tuple[CommitSpec, ...]:
        """The commits that lead to the release; nothing in them is later than it."""
        left = dict(self.files)
        made = []
        for item in self.commits:
            adds: dict[str, bytes | None] = {path: left.pop(path) for path in chosen(left, item.adds)}
            made.append(CommitSpec(item.message, item.author, item.email, item.date.isoformat(), adds))
        return tuple(made)

    @cached_property
    def sha256(self) -> str:
        """What identifies the task: its folder, the selection, and the prompts that all such tasks share."""
        digest = hashlib.sha256(self.folder_sha256.encode())
        for step in self.steps:
            if isinstance(step, SessionStep):
                digest.update(hashlib.sha256(self.prompt(step.prompt).encode()).digest())
        return digest.hexdigest()

    def workspace_files(self, done: frozenset[str] | set[str] = frozenset()) -> dict[str, bytes]:
        """What the agent starts from. What mends it is reference.yaml's, and applied by `reference.mended`."""
        if unknown := sorted(set(done) - set(self.requirements)):
            raise ValueError(f"{self.id} has no bug {unknown[0]}")
        return dict(self.files)

    def cutoff(self, step: SessionStep) -> CutoffRule:
        """When a session of the script ends."""
        return parse(step.cutoff, armed=step.armed)

    def prompt(self, name: str) -> str:
        """A prompt by the name of its file, giving away what the selection says and no more."""
        hints = self.chosen.hints
        flags = {"areas": hints == "areas", "specifications": hints == "specifications"}
        values = {
            "project": self.known.archive.project,
            "version": self.known.archive.version,
            "summary": self.summary,
            "count": str(len(self.bugs)),
            "package": "/".join((*self.folders, self.package)),
            "areas": "\n".join(f"- {place}" for place in dict.fromkeys(bug.place for bug in self.bugs)),
            "specifications": "\n".join(f"- **{bug.area}** {bug.specification}" for bug in self.bugs),
        }
        return render(self.prompts[name], values, flags, f"prompts/{name}")


def _literal(path: str) -> str:
    # `*`, `?` and `[` stand for themselves inside brackets.
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in path)
