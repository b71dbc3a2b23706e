"""Arms: the files that an agent finds in its workspace before session 1, beside the code."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Literal

from ..sandbox.errors import InputError
from ..sandbox.tree import is_safe_path
from ..sandbox.workspace import CommitSpec
from .arms_generated import PATHS, generated_files
from .schema import ArmForm
from .template import TemplateError, render
from .tokens import TOKENIZER, visible_tokens
from .trialtask import TrialTask
from .yamlfile import Source, read_yaml

ARMS = Path(__file__).parent / "arms"
MAX_FILES_BYTES = 4 << 20
BESIDE_FILES = frozenset({"arm.yaml", "files", "README.md"})

History = Literal["full", "none-before-last"]


@dataclass(frozen=True, slots=True)
class Arm:
    """An arm as it is for one task. `state_tokens` is the limit of the file `state`, None where there is none.

    `generated` are the paths, among `files`, of those that were made from the task's baseline and not written.
    """

    name: str
    title: str
    files: Mapping[str, bytes]
    state: str | None
    state_tokens: int | None
    sha256: str
    generated: tuple[str, ...] = ()
    history: History = "full"

    @property
    def has_repository(self) -> bool:
        """Whether the workspace is a git repository from the start; else `arms_history` gives it one later."""
        return self.history == "full"


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


def load_arm(ref: str | Path, task: TrialTask) -> Arm:
    """An arm by its name or its folder, for a task; InputError lists what exists, or says what is wrong where."""
    root = _folder(ref)
    form, source = read_yaml(root / "arm.yaml", ArmForm, f"{root.name}/arm.yaml")
    if form.name != root.name:
        raise source.error(("name",), f"{form.name} is not the name of the folder, {root.name}")
    limit = _limit(form, task, source)
    values = {"state_tokens": str(limit)} if limit is not None else {}
    files = _files(root, values, {"codebase": task.codebase})
    if form.state is not None and form.state not in files:
        raise source.error(("state",), f"files/{form.state} does not exist")
    made = tuple(PATHS[kind] for kind in form.generated)
    _check_paths(files, made, task, source)
    files |= generated_files(form.generated, task, files)
    sha256 = _sha256(form, limit, files)
    arm = Arm(form.name, form.title, files, form.state, limit, sha256, made, form.history)
    use = state_use(arm, files)
    if use is not None and not use.within:
        raise source.error(("state_tokens",), f"files/{form.state} already has {use.tokens} tokens, limit {use.limit}")
    return arm


def starting_history(task: TrialTask, arm: Arm) -> list[CommitSpec]:
    """The task's commits, and one more that adds the files of the arm; none in an arm without a repository."""
    if not arm.has_repository:
        return []
    commits = list(task.history)
    if arm.files:
        last = task.commits[-1]
        date = (last.date + timedelta(hours=2)).isoformat()
        commits.append(CommitSpec("Add notes for coding agents", last.author, last.email, date, arm.files))
    return commits


def starting_files(task: TrialTask, arm: Arm) -> dict[str, bytes]:
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
    if not path.is_dir():
        raise InputError(f"no arm {str(ref)!r}", hint=f"Known: {', '.join(known)}; or a folder that holds an arm.yaml.")
    path = path.resolve()
    if not (path / "arm.yaml").is_file():
        raise InputError(f"{path.name}/arm.yaml: no such file", hint="docs/arms.md shows what an arm consists of.")
    if path.name in known and path != known[path.name].resolve():
        raise InputError(
            f"{path.name}/arm.yaml: name: {path.name} is an arm that ships",
            hint="Results are told apart by the name: give yours, and its folder, another.",
        )
    for entry in sorted(path.iterdir()):
        if entry.name not in BESIDE_FILES and not entry.name.startswith("."):
            raise InputError(f"{path.name}/{entry.name}: not part of an arm; what the workspace gets is in files/")
    return path


def _limit(form: ArmForm, task: TrialTask, source: Source) -> int | None:
    limit = form.state_tokens
    where: tuple[str, ...] = ("state_tokens",)
    if isinstance(limit, dict):
        if task.tier not in limit:
            raise source.error(where, f"no limit for tier {task.tier}")
        where, limit = (*where, str(task.tier)), limit[task.tier]
    if limit is not None and limit < 1:
        raise source.error(where, "must be at least 1")
    return limit


def _files(root: Path, values: Mapping[str, str], flags: Mapping[str, bool]) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for path in sorted((root / "files").rglob("*")):
        where = ascii(f"{root.name}/{path.relative_to(root).as_posix()}")[1:-1]
        name = path.relative_to(root / "files").as_posix()
        if path.is_dir() and not path.is_symlink():
            continue
        if path.is_symlink() or not path.is_file():
            raise InputError(f"{where}: not a regular file")
        if not name.isprintable() or not is_safe_path(name) or name.split("/")[0].casefold() == ".git":
            raise InputError(f"{where}: cannot be a file of an arm")
        if path.stat().st_size + sum(map(len, found.values())) > MAX_FILES_BYTES:
            raise InputError(f"{where}: the files of an arm are more than {MAX_FILES_BYTES >> 20} MiB")
        found[name] = _rendered(path, values, flags, where)
    return found


def _rendered(path: Path, values: Mapping[str, str], flags: Mapping[str, bool], where: str) -> bytes:
    try:
        return render(path.read_bytes().decode("utf-8"), values, flags, where).encode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: not UTF-8 (byte {error.start})") from error
    except OSError as error:
        raise InputError(f"{where}: {error.strerror}") from error
    except TemplateError as error:
        raise InputError(str(error)) from error


def _check_paths(files: Mapping[str, bytes], made: tuple[str, ...], task: TrialTask, source: Source) -> None:
    for index, path in enumerate(made):
        if path in files:
            raise source.error(("generated", index), f"files/{path} is there already")
    taken = {**task.workspace_files(), **task.workspace_files(set(task.requirements))}
    folders = {parent for path in taken for parent in _parents(path)}
    for path in sorted((*files, *made)):
        if path in taken or path in folders or not taken.keys().isdisjoint(_parents(path)):
            raise source.error((), f"files/{path} would replace a file of {task.id}")


def _parents(path: str) -> list[str]:
    parts = path.split("/")[:-1]
    return ["/".join(parts[: count + 1]) for count in range(len(parts))]


def _sha256(form: ArmForm, limit: int | None, files: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256(f"arm {form.name}\nstate {form.state} {limit}\nhistory {form.history}\n".encode())
    for path in sorted(files):
        digest.update(f"{hashlib.sha256(files[path]).hexdigest()} {path}\n".encode())
    return digest.hexdigest()
