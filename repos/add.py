"""`takeover repos add`: a task from any release, and a YAML of probes that are measured before they are believed."""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from ..sandbox.errors import InputError
from ..tiers.yamlfile import read_yaml
from .load import load_repo_task, repo_folders
from .origin import Release
from .schema import NAME, VERSION, ProbeForm, ProbesForm
from .task import RepoTask
from .visible import VisibleVerdict

RUNS = 5
TIER = 3
WHEN = "2020-01-01T00:00:00+00:00"
REASON = "Not measured: `takeover repos add` cannot know how large a codebase is to an agent. Set it from a first run."


@dataclass(frozen=True, slots=True)
class Answer:
    """What one run of a probe came to: the value in `result`, or why there is none."""

    value: object = None
    why: str | None = None

    @property
    def shown(self) -> str:
        """The answer in a clause."""
        return repr(self.value)[:200] if self.why is None else self.why[:200]

    def same(self, other: Answer) -> bool:
        """Equal in every type and depth, as the grader has it: `1` is not `True`, and keys have no order."""
        return (_canonical(self.value), self.why) == (_canonical(other.value), other.why)


def _canonical(value: object) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(sorted(f'{_canonical(key)}: {_canonical(one)}' for key, one in value.items()))}}}"
    if isinstance(value, set | frozenset):
        return f"{type(value).__name__}({', '.join(sorted(map(_canonical, value)))})"
    if isinstance(value, list | tuple):
        return f"{type(value).__name__}({', '.join(map(_canonical, value))})"
    return repr(value)


# Runs every probe once over these files, each in a fresh process of a fresh sandbox; folders come before the workspace.
Ask = Callable[[Mapping[str, bytes], Sequence[str], Sequence[str]], Sequence[Answer]]
# Runs the release's own tests at base; None where the task names none.
OwnTests = Callable[[RepoTask], VisibleVerdict | None]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a task is made of. `fixed` is a release in which every bug is gone."""

    name: str
    base: Release
    probes: Path
    into: Path
    fixed: Release | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


def add_task(wanted: Wanted, ask: Ask, own_tests: OwnTests = lambda task: None) -> RepoTask:  # noqa: ARG005
    """Measure the probes, write the task's folder and load it; InputError names each probe that will not do.

    Nothing is written unless all of them hold, and the release's own tests pass where it names any.
    """
    if not re.fullmatch(NAME, wanted.name) or wanted.name in repo_folders():
        raise InputError(
            f"{wanted.name!r}: cannot be the name of a task",
            hint="Letters, digits, - and _, a letter first, and none of a task that ships.",
        )
    if not re.fullmatch(VERSION, wanted.base.version):
        raise InputError(f"{wanted.base.version!r}: cannot be a version")
    form, _ = read_yaml(wanted.probes, ProbesForm, wanted.probes.name)
    target = wanted.into / wanted.name
    if target.exists():
        raise InputError(f"{target}: is there already", hint="Choose another name, or remove it.")
    seen = measured(form, wanted.base.files, ask)
    problems = refusals(form.bugs, seen, measured(form, wanted.fixed.files, ask) if wanted.fixed else None)
    if problems:
        rest = f" (and {len(problems) - 1} more: {'; '.join(problems[1:])})" if problems[1:] else ""
        raise InputError(f"{wanted.probes.name}: {problems[0]}{rest}")
    wanted.into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=wanted.into, prefix=".") as scratch:
        folder = Path(scratch) / wanted.name
        folder.mkdir()
        _write(folder, wanted, form, [runs[0].value for runs in seen])
        verdict = own_tests(load_repo_task(folder, "all"))
        if verdict is not None and not verdict.passed:
            raise InputError(f"{wanted.probes.name}: visible: at base: {verdict.evidence}")
        shutil.move(folder, target)
    return load_repo_task(target)


def measured(form: ProbesForm, files: Mapping[str, bytes], ask: Ask) -> list[list[Answer]]:
    """By probe, what each of the runs came to."""
    sources = [bug.probe for bug in form.bugs]
    rounds = [ask(files, sources, form.folders) for _ in range(RUNS)]
    return [[one[index] for one in rounds] for index in range(len(sources))]


def refusals(
    bugs: Sequence[ProbeForm], base: Sequence[Sequence[Answer]], fixed: Sequence[Sequence[Answer]] | None
) -> list[str]:
    """Why probes will not do, one clause each."""
    found = []
    for index, bug in enumerate(bugs):
        right = Answer(bug.expected)
        for where, runs in (("base", base[index]), ("the fixed release", fixed[index] if fixed else ())):
            if (other := next((one for one in runs if not one.same(runs[0])), None)) is not None:
                found.append(
                    f"{bug.id}: not deterministic at {where}: {runs[0].shown}, then {other.shown} within {RUNS} runs"
                )
                break
        else:
            if base[index][0].same(right):
                found.append(f"{bug.id}: does not fail at base: it gives what is expected, {right.shown}")
            elif base[index][0].why is not None:
                found.append(f"{bug.id}: gives no value at base: {base[index][0].shown}")
            elif not _is_kept(base[index][0].value):
                found.append(
                    f"{bug.id}: leaves {base[index][0].shown} at base; only numbers, texts, lists and dicts can be kept"
                )
            elif fixed and not fixed[index][0].same(right):
                found.append(
                    f"{bug.id}: does not pass at the fixed release: {fixed[index][0].shown}, expected {right.shown}"
                )
    return found


def _is_kept(value: object) -> bool:
    """Whether bugs.yaml can hold it and give the same back."""
    if isinstance(value, list):
        return all(map(_is_kept, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_kept(key) and _is_kept(one) for key, one in value.items())
    if isinstance(value, str):
        return not any("\ud800" <= char <= "\udfff" for char in value)
    return value is None or isinstance(value, bool | int | float)


def packed(files: Mapping[str, bytes], top: str) -> bytes:
    """Files as a source archive; the same files give the same bytes."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(files):
            member = tarfile.TarInfo(f"{top}/{path}")
            member.size, member.mode = len(files[path]), 0o644
            archive.addfile(member, io.BytesIO(files[path]))
    return gzip.compress(raw.getvalue(), mtime=0)


def _write(folder: Path, wanted: Wanted, form: ProbesForm, base: Sequence[object]) -> None:
    release = wanted.base
    archive = release.archive
    if archive is None:
        data = packed(release.files, f"{wanted.name}-{release.version}")
        name, digest = f"{wanted.name}-{release.version}.tar.gz", hashlib.sha256(data).hexdigest()
        (folder / name).write_bytes(data)
    else:
        name, digest = archive.file, archive.sha256
    bugs = {
        "schema_version": 1,
        "project": release.project,
        "version": release.version,
        "sdist": name,
        "sha256": digest,
        "bugs": [
            {**bug.model_dump(exclude={"expected"}, exclude_none=True), "base": value, "expected": bug.expected}
            for bug, value in zip(form.bugs, base, strict=True)
        ],
    }
    _dump(folder / "bugs.yaml", bugs)
    _dump(folder / "task.yaml", _task(wanted, form))


def _task(wanted: Wanted, form: ProbesForm) -> dict[str, object]:
    release = wanted.base
    given = form.model_dump(include={"summary", "package", "folders", "protected", "dropped"})
    visible = {"visible": form.visible.model_dump()} if form.visible else {}
    return {
        "schema_version": 1,
        "id": wanted.name,
        "tier": TIER,
        "title": f"Hidden bugs of {release.project} {release.version}",
        "budget_tokens": 1_000_000,
        "budget_reason": REASON,
        "steps": [
            {"session": {"prompt": "audit.md", "cutoff": "first-edit"}},
            {"session": {"prompt": "continue.md"}},
        ],
        **given,
        **visible,
        "history": [
            {
                "author": "Maintainers <maintainers@project.example>",
                "date": WHEN,
                "message": f"{release.project} {release.version}",
                "adds": [".gitignore", *_tops(release.files)],
            }
        ],
        **wanted.options,
    }


def _tops(files: Mapping[str, bytes]) -> list[str]:
    return sorted({f"{path.split('/')[0]}/" if "/" in path else path for path in files})


class _Dumper(yaml.SafeDumper):
    """Texts of several lines as they are, and nothing by reference."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def _dump(path: Path, data: object) -> None:
    path.write_text(yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=118), encoding="utf-8")
