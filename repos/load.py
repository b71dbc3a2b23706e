"""Finding and reading the folders of tasks on real codebases."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ..sandbox.cutoff import parse
from ..sandbox.errors import InputError
from ..sandbox.limits import Limits, parse_limits
from ..tiers.schema import StepForm
from ..tiers.task import HistoryItem, PoisonStep, SessionStep, Step, folder_sha256
from ..tiers.yamlfile import Source, read_yaml
from .probes import Bugs, load_bugs, parse_variant, select
from .schema import RepoTaskForm
from .source import SourceArchive, files_of
from .task import RepoTask, Visible

ROOM = Path(__file__).parent
PROMPTS = ROOM / "prompts"


@dataclass(frozen=True, slots=True)
class RepoSummary:
    """What a listing shows."""

    id: str
    tier: int
    title: str
    canonical: int
    bugs: int
    path: Path


def repo_folders() -> dict[str, Path]:
    """The folders of the tasks that ship, by name."""
    return {path.parent.name: path.parent for path in sorted(ROOM.glob("*/task.yaml"))}


def is_repo_task(ref: str | Path) -> bool:
    """Whether a reference is to a task on a real codebase: `click`, `repos/click`, or a folder with a bugs.yaml."""
    return _known(ref) is not None or (Path(ref) / "bugs.yaml").is_file()


def list_repo_tasks() -> list[RepoSummary]:
    """All that ship; reads no source distribution."""
    found = []
    for name, root in repo_folders().items():
        form, _ = read_yaml(root / "task.yaml", RepoTaskForm, f"{name}/task.yaml")
        bugs = load_bugs(root / "bugs.yaml", f"{name}/bugs.yaml").bugs
        found.append(RepoSummary(form.id, form.tier, form.title, sum(b.canonical for b in bugs), len(bugs), root))
    return found


def load_repo_task(
    ref: str | Path, variant: int | str = 0, release: Callable[[SourceArchive], Mapping[str, bytes]] | None = None
) -> RepoTask:
    """A task by its name or folder, for the selection that `variant` names (`probes.Selection.text`).

    Nothing is fetched before the first file is needed. InputError names what is wrong, where.
    """
    root = _folder(ref)
    label = f"{root.name}/task.yaml"
    form, source = read_yaml(root / "task.yaml", RepoTaskForm, label)
    if form.id != root.name:
        raise source.error(("id",), f"{form.id} is not the name of the folder, {root.name}")
    known = load_bugs(root / "bugs.yaml", f"{root.name}/bugs.yaml")
    prompts = _prompts(root)
    wanted = parse_variant(variant)
    return RepoTask(
        id=form.id,
        tier=form.tier,
        title=form.title,
        summary=" ".join(form.summary.split()),
        chosen=wanted,
        bugs=select(known.bugs, wanted),
        known=known,
        steps=_steps(form.steps, prompts, source),
        folders=tuple(form.folders),
        package=form.package,
        dropped=tuple(form.dropped),
        guards=tuple(form.protected),
        visible=_visible(form),
        budget_tokens=form.budget_tokens,
        budget_reason=form.budget_reason,
        limits=_limits(form, source),
        commits=_commits(form, source),
        prompts=prompts,
        root=root,
        folder_sha256=folder_sha256(root, wanted.text),
        release=_release(root, known, release),
    )


def _known(ref: str | Path) -> Path | None:
    return repo_folders().get(ref.removeprefix("repos/").rstrip("/")) if isinstance(ref, str) else None


def _folder(ref: str | Path) -> Path:
    path = _known(ref) or Path(ref)
    if (path / "task.yaml").is_file() and (path / "bugs.yaml").is_file():
        return path.resolve()
    raise InputError(
        f"no task on a codebase {str(ref)!r}",
        hint=f"Known: {', '.join(repo_folders())}; or a folder that `takeover repos add` made.",
    )


def _release(
    root: Path, known: Bugs, release: Callable[[SourceArchive], Mapping[str, bytes]] | None
) -> Callable[[], Mapping[str, bytes]]:
    """The files of the release: of an archive beside task.yaml where there is one, else by name and hash."""
    beside = root / known.archive.file

    def files() -> Mapping[str, bytes]:
        if release is not None:
            return release(known.archive)
        if beside.is_file():
            return files_of(known.archive, fetch=lambda project, file: beside.read_bytes())  # noqa: ARG005
        return _cached(known.archive)

    return files


# Every selection of a codebase shares its release.
@lru_cache(maxsize=4)
def _cached(archive: SourceArchive) -> Mapping[str, bytes]:
    return files_of(archive)


def _prompts(root: Path) -> dict[str, str]:
    """The prompts that all such tasks share; a folder's own prompts/ stands before them."""
    return {
        path.name: path.read_text(encoding="utf-8")
        for folder in (PROMPTS, root / "prompts")
        for path in sorted(folder.glob("*.md"))
    }


def _steps(forms: list[StepForm], prompts: Mapping[str, str], source: Source) -> tuple[Step, ...]:
    found: list[Step] = []
    for index, form in enumerate(forms):
        if form.session is None:
            found.append(PoisonStep(str(form.poison)))
            continue
        session, where = form.session, ("steps", index, "session")
        if session.prompt not in prompts:
            raise source.error((*where, "prompt"), f"no prompt is called {session.prompt}")
        try:
            parse(session.cutoff, armed=session.armed)
        except InputError as error:
            raise source.error((*where, "cutoff"), str(error)) from error
        number = 1 + sum(isinstance(step, SessionStep) for step in found)
        found.append(SessionStep(number, session.prompt, session.cutoff, session.armed))
    if not any(isinstance(step, SessionStep) for step in found):
        raise source.error(("steps",), "no session among the steps")
    return tuple(found)


def _visible(form: RepoTaskForm) -> Visible | None:
    given = form.visible
    if given is None:
        return None
    return Visible(
        given.image,
        given.python,
        tuple(given.arguments),
        given.canaries,
        given.environment,
        given.passed,
        given.seconds,
    )


def _limits(form: RepoTaskForm, source: Source) -> Limits:
    try:
        return parse_limits(form.limits)
    except InputError as error:
        raise source.error(("limits",), str(error).removeprefix("limits: ")) from error


def _commits(form: RepoTaskForm, source: Source) -> tuple[HistoryItem, ...]:
    found = []
    for index, commit in enumerate(form.history):
        if index and commit.date < form.history[index - 1].date:
            raise source.error(("history", index, "date"), "before the commit above")
        name, email = commit.author[:-1].split(" <")
        found.append(HistoryItem(name, email, commit.date, commit.message, tuple(commit.adds), ()))
    return tuple(found)
