"""Broken task folders: each mistake is an error of one line that says where it stands."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from takeover.sandbox.errors import InputError
from takeover.tiers.load import TIERS, list_tasks, load_task

# By name: the file, the text in it, what it becomes, the lines from there to the error, and how that begins.
YAML, LEDGER, SPRINT = "task.yaml", "workspace/ledger/rules.py", "prompts/sprint.md"
RANGE = "{default: 87, from: 81, to: 93}"
BROKEN = {
    "version": (YAML, "schema_version: 1", "schema_version: 2", 0, "schema_version: Input should be 1"),
    "unknown field": (YAML, "tier: 2\n", "tier: 2\nteir: 2\n", 1, "teir: Extra inputs are not permitted"),
    "twice": (YAML, "tier: 2\n", "tier: 2\ntier: 2\n", 1, "tier: stands twice"),
    "not YAML": (YAML, "tier: 2\n", "tier: [2\n", 1, "not YAML: "),
    "alias": (YAML, "tier: 2\n", "tier: *two\n", 0, "not YAML: aliases (*name) are not read here"),
    "other name": (YAML, "id: tier2_f", "id: tier2_b", 0, "id: tier2_bintech is not the name of the folder"),
    "budget": (YAML, "budget_tokens: 400000", "budget_tokens: 0", 0, "budget_tokens: Input should be greater than 0"),
    "prompt": (YAML, "prompt: continue", "prompt: go_on", 0, "steps.1.session.prompt: prompts/go_on.md does not exist"),
    "cutoff": (
        YAML,
        "cutoff: first-edit",
        "cutoff: first-try",
        0,
        "steps.0.session.cutoff: 'first-try' is not a cutoff",
    ),
    "armed": (YAML, "first-edit}", "first-edit, armed: now}", 0, "steps.0.session.cutoff: cutoff armed: 'now' is not"),
    "two kinds": (
        YAML,
        "- session: {prompt: continue.md}",
        "- {session: {prompt: continue.md}, poison: x}",
        0,
        "steps.1: a",
    ),
    "grade": (YAML, "grade: [retention, ", "grade: [attention, ", 0, "grade.0: Input should be 'retention'"),
    "check twice": (YAML, "R7, R8]", "R8, R8]", 0, "requirements: R8 stands twice"),
    "no check": (YAML, "B20, B21]", "B20, B21, B22]", 0, "baseline.21: 0 functions test_B22_... in checks/, not 1"),
    "no heading": (YAML, "R7, R8]", "R7, R8, R9]", 0, "requirements.8: no prompt has a heading `### R9 ...`"),
    "extra check": (YAML, "B20, B21]", "B20]", -1, "requirements: checks/ tests B21, which is not listed"),
    "limits": (YAML, "{wall: 20m}", "{wall: soon}", 0, "limits.wall: 'soon' is not a time"),
    "unknown limit": (YAML, "{wall: 20m}", "{well: 20m}", 0, "limits: unknown field 'well'"),
    "default": (
        YAML,
        "hold_cap: {default: 87",
        "hold_cap: {default: 7",
        0,
        "parameters.hold_cap: the default 7 is not",
    ),
    "one value": (YAML, RANGE, "{default: 87, choices: [87]}", 0, "parameters.hold_cap: needs at least two different"),
    "both": (YAML, RANGE, "{default: 87, from: 81, to: 93, choices: [87, 88]}", 0, "parameters.hold_cap: give either"),
    "half a range": (
        YAML,
        RANGE,
        "{default: 87, from: 81}",
        0,
        "parameters.hold_cap: give either choices, or from and",
    ),
    "no number": (
        YAML,
        RANGE,
        "{default: 87, from: 81, to: x}",
        0,
        "parameters.hold_cap.to: Input should be a valid int",
    ),
    "endless": (
        YAML,
        RANGE,
        "{default: 87, from: 81, to: 999999999}",
        0,
        "parameters.hold_cap: more than 100000 values",
    ),
    "words": (
        YAML,
        "words: {next: M",
        "words: {nexxt: M",
        -3,
        "parameters.dun_shift: words must name exactly its choices",
    ),
    "same words": (
        YAML,
        "up: ascending}",
        "up: descending}",
        -3,
        "parameters.age_ties: two choices have the same words",
    ),
    "unused": (
        YAML,
        "  # R1 p",
        "  idle: {default: 1, from: 1, to: 2}\n  # R1 p",
        0,
        "parameters.idle: no requirement states",
    ),
    "constraint": (
        YAML,
        "ascending: [age_first",
        "ascending: [age_frist",
        0,
        "constraints.5.ascending: no parameter age_f",
    ),
    "broken": (
        YAML,
        "ascending: [age_first, age_second]",
        "ascending: [age_second, age_first]",
        0,
        "constraints.5.ascend",
    ),
    "author": (YAML, "author: Ida Brandt <ida@tallybook.example>", "author: Ida", 0, "history.0: author must read"),
    "date": (YAML, "2025-09-02T16:40:05", "2024-09-02T16:40:05", 0, "history.1.date: before the commit above"),
    "zone": (YAML, "2025-09-02T16:40:05+02:00", "2025-09-02T16:40:05", 0, "history.1.date: Input should have timezone"),
    "mark": (
        YAML,
        "turns_on: [fees_round_up]",
        "turns_on: [fees]",
        0,
        "history.7.turns_on: fees is not among the marks",
    ),
    "idle mark": (YAML, "marks: [", "marks: [idle, ", 0, "marks: no commit turns on idle"),
    "protected": (YAML, '["tests/*.py", ', '["test/*.py", ', 0, "protected.0: no file of the workspace fits test/*.py"),
    "vandal": (
        YAML,
        'text: "period',
        'text: "periods',
        0,
        "vandal.text: does not stand exactly once in ledger/periods.py",
    ),
    "value": (LEDGER, "<<hold_long>>", "<<hold_lang>>", 0, "hold_lang: neither parameter, requirement nor mark"),
    "flag": (LEDGER, "#:if R1\n\n\ndef", "#:if R11\n\n\ndef", 0, "R11: neither parameter, requirement nor mark"),
    "no end": (LEDGER, "#:if R1\n\n\ndef", "#:if R1\n#:if R1\n\n\ndef", 0, "#:if without #:end"),
    "prompt value": (SPRINT, "<<hold_long>>", "<<hold_lang>>", 0, "hold_lang: neither parameter, requirement nor mark"),
    "wiring": (
        "workspace/wiring.yaml",
        "package: rbac",
        "package: rback",
        0,
        "boundaries.0.package: rback is not among",
    ),
    "check syntax": ("checks/test_sprint.py", "def around(", "def around", 0, "unmatched ')'"),
}


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(TIERS / "tier2_fintech", tmp_path / "tier2_fintech"))


@pytest.mark.parametrize("name", list(BROKEN))
def test_mistakes_are_located(folder: Path, name: str) -> None:
    """The message begins with file, line and field; it is one line."""
    file, right, wrong, offset, message = BROKEN[name]
    before = (folder / file).read_text()
    assert right in before
    (folder / file).write_text(before.replace(right, wrong, 1))
    line = before[: before.index(right)].count("\n") + 1 + offset

    with pytest.raises(InputError) as caught:
        load_task(folder)

    assert str(caught.value).startswith(f"tier2_fintech/{file}:{line}: {message}")
    assert "\n" not in str(caught.value)


def test_a_whole_field_that_is_missing(folder: Path) -> None:
    """The error stands at the nearest thing that exists."""
    text = (folder / YAML).read_text()
    (folder / YAML).write_text(text.replace("title: ", "# title: "))
    with pytest.raises(InputError, match=r"^tier2_fintech/task.yaml:1: title: Field required$"):
        load_task(folder)


def test_notes_that_leave_a_value_out(folder: Path) -> None:
    """A line of the notes must hold what its requirement states, or a scripted agent could not recover it."""
    notes = folder / "prompts" / "notes.md"
    notes.write_text(notes.read_text().replace("max <<loyal_max>>", "max 5"))
    with pytest.raises(InputError, match=r"^tier2_fintech/task.yaml:\d+: notes: the line of R2 must hold exactly"):
        load_task(folder)


def test_bytes_that_are_no_text(folder: Path) -> None:
    """A file that is not UTF-8 is named."""
    (folder / "workspace" / "logo.png").write_bytes(b"\x89PNG\xff")
    with pytest.raises(InputError, match=r"tier2_fintech/workspace/logo.png: not UTF-8 \(byte 0\)"):
        load_task(folder)


@pytest.mark.parametrize(
    "missing", ["task.yaml", "workspace/wiring.yaml", "prompts/notes.md", "checks", "workspace", "prompts"]
)
def test_missing_parts(folder: Path, missing: str) -> None:
    """What a task must have and has not is named."""
    path = folder / missing
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    with pytest.raises(InputError):
        load_task(folder)


def test_a_folder_anywhere_is_a_task(folder: Path) -> None:
    """Tasks need not live in the toolkit, and where one lives does not change it."""
    assert load_task(folder).sha256 == load_task(str(folder)).sha256 == load_task("tier2_fintech").sha256


def test_every_file_and_the_variant_identify_a_task(folder: Path) -> None:
    """A changed check is another task; so is another seed. What Python leaves behind is not."""
    before = load_task(folder).sha256
    (folder / "checks" / "__pycache__").mkdir(exist_ok=True)
    (folder / "checks" / "__pycache__" / "x.pyc").write_bytes(b"x")
    assert load_task(folder).sha256 == before
    assert load_task(folder, "other").sha256 != before

    (folder / "checks" / "test_sprint.py").write_text((folder / "checks" / "test_sprint.py").read_text() + "\n")
    assert load_task(folder).sha256 != before


def test_an_unknown_task_lists_what_exists() -> None:
    """So that the next try is right."""
    with pytest.raises(InputError, match="no task 'tier9'") as caught:
        load_task("tier9")

    assert "tier2_fintech" in str(caught.value.hint)


def test_listing() -> None:
    """The summary counts the checks."""
    found = {task.id: task for task in list_tasks()}["tier2_fintech"]
    assert (found.tier, found.requirements, found.baseline) == (2, 8, 21)
