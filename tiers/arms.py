"""Arms: the files that an agent finds in its workspace before session 1, beside the code."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from ..sandbox.errors import InputError
from ..sandbox.workspace import CommitSpec
from .schema import ArmForm
from .task import Task
from .template import TemplateError, render
from .tokens import TOKENIZER, visible_tokens
from .yamlfile import read_yaml

ARMS = Path(__file__).parent / "arms"


@dataclass(frozen=True, slots=True)
class Arm:
    """An arm as it is for one task. `state_tokens` is the limit of the file `state`, None where there is none."""

    name: str
    title: str
    files: Mapping[str, bytes]
    state: str | None
    state_tokens: int | None
    sha256: str


@dataclass(frozen=True, slots=True)
class StateUse:
    """How long the notes of a session became; a breach is reported, not punished."""

    tokens: int
    limit: int
    tokenizer: str

    @property
    def within(self) -> bool:
        """Whether the limit was kept."""
        return self.tokens <= self.limit


@dataclass(frozen=True, slots=True)
class ArmSummary:
    """What a listing of arms shows."""

    name: str
    title: str
    path: Path


def arm_folders() -> dict[str, Path]:
    """The folders of the arms that ship, by name."""
    return {path.parent.name: path.parent for path in sorted(ARMS.glob("*/arm.yaml"))}


def list_arms() -> list[ArmSummary]:
    """All arms that ship."""
    found = []
    for name, root in arm_folders().items():
        form, _ = read_yaml(root / "arm.yaml", ArmForm, f"{name}/arm.yaml")
        found.append(ArmSummary(form.name, form.title, root))
    return found


def load_arm(ref: str | Path, task: Task) -> Arm:
    """An arm by its name or its folder, for a task; InputError lists what exists, or says what is wrong where."""
    root = _folder(ref)
    form, source = read_yaml(root / "arm.yaml", ArmForm, f"{root.name}/arm.yaml")
    if form.name != root.name:
        raise source.error(("name",), f"{form.name} is not the name of the folder, {root.name}")
    limit = form.state_tokens
    if isinstance(limit, dict):
        if task.tier not in limit:
            raise source.error(("state_tokens",), f"no limit for tier {task.tier}")
        limit = limit[task.tier]
    if limit is not None and limit < 1:
        raise source.error(("state_tokens",), "must be at least 1")
    files = _files(root, {"state_tokens": str(limit)} if limit is not None else {})
    if form.state is not None and form.state not in files:
        raise source.error(("state",), f"files/{form.state} does not exist")
    if clash := sorted(set(files) & set(task.workspace_files(set(task.requirements)))):
        raise source.error((), f"files/{clash[0]} would replace a file of {task.id}")
    arm = Arm(form.name, form.title, files, form.state, limit, _sha256(form.name, files))
    use = state_use(arm, files)
    if use is not None and not use.within:
        raise source.error(("state_tokens",), f"files/{form.state} already has {use.tokens} tokens, limit {use.limit}")
    return arm


def starting_history(task: Task, arm: Arm) -> list[CommitSpec]:
    """The task's commits, and one more that adds the files of the arm where it has any."""
    commits = list(task.history)
    if arm.files:
        last = task.commits[-1]
        date = (last.date + timedelta(hours=2)).isoformat()
        commits.append(CommitSpec("Add notes for coding agents", last.author, last.email, date, arm.files))
    return commits


def starting_files(task: Task, arm: Arm) -> dict[str, bytes]:
    """The workspace before session 1."""
    return {**task.workspace_files(), **arm.files}


def state_use(arm: Arm, files: Mapping[str, bytes]) -> StateUse | None:
    """How much of its limit the arm's state file uses in a workspace; None without limit or without the file."""
    if arm.state is None or arm.state_tokens is None or arm.state not in files:
        return None
    text = files[arm.state].decode("utf-8", "replace")
    return StateUse(visible_tokens(text), arm.state_tokens, TOKENIZER)


def _folder(ref: str | Path) -> Path:
    known = arm_folders()
    if isinstance(ref, str) and ref in known:
        return known[ref]
    path = Path(ref)
    if (path / "arm.yaml").is_file():
        return path.resolve()
    raise InputError(f"no arm {str(ref)!r}", hint=f"Known: {', '.join(known)}; or a folder that holds an arm.yaml.")


def _files(root: Path, values: Mapping[str, str]) -> dict[str, bytes]:
    found = {}
    for path in sorted((root / "files").rglob("*")):
        if path.is_file():
            name = path.relative_to(root / "files").as_posix()
            where = f"{root.name}/files/{name}"
            try:
                found[name] = render(path.read_bytes().decode("utf-8"), values, {}, where).encode("utf-8")
            except UnicodeDecodeError as error:
                raise InputError(f"{where}: not UTF-8 (byte {error.start})") from error
            except TemplateError as error:
                raise InputError(str(error)) from error
    return found


def _sha256(name: str, files: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256(f"arm {name}\n".encode())
    for path in sorted(files):
        digest.update(f"{hashlib.sha256(files[path]).hexdigest()} {path}\n".encode())
    return digest.hexdigest()
