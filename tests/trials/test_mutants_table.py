"""The table of mutants and killers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from takeover.tiers.load import TIERS, load_task
from takeover.tiers.mutants import mutants
from takeover.trials.mutants_table import REFERENCE, Folder, Row, examine, line, main, table


@pytest.fixture(name="weak", scope="module")
def _weak(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fintech task with a check of R1 that does not look at the cap."""
    folder = Path(shutil.copytree(TIERS / "tier2_fintech", tmp_path_factory.mktemp("weak") / "tier2_fintech"))
    path = folder / "checks" / "test_sprint.py"
    head, rest = path.read_text().split("def test_R1_", 1)
    _, after = rest.split("\ndef test_R2_", 1)
    body = 'posting_holds(subject, p):\n    assert subject.call("ledger.rules:hold_hours", 100, 400) == p.hold_short\n'
    path.write_text(f"{head}def test_R1_{body}\n\ndef test_R2_{after}")
    return folder


def test_every_mutant_has_a_row_and_a_killer() -> None:
    """After the reference itself, which no check kills."""
    task = load_task("tier2_fintech", "rows")
    reference, *rows = examine("tier2_fintech", "rows", "R1", every_check=False)
    assert (reference.parameter, reference.killers, reference.sound) == (REFERENCE, (), True)
    assert [(row.parameter, row.wrong) for row in rows] == [(m.parameter, str(m.wrong)) for m in mutants(task, "R1")]
    assert {row.killers for row in rows} == {("R1",)}


def test_a_value_of_two_requirements_has_two_killers() -> None:
    """Both checks see it; with all checks asked nothing else does."""
    rows = examine("tier1_metering", "0", "R8", every_check=True)
    killers = {row.parameter: row.killers for row in rows}
    assert killers["rem_free"] == ("R4", "R8")
    assert killers["dig_limit"] == ("R8",)


def test_survivors_are_found(weak: Path) -> None:
    """A check that leaves a value out lets its mutants live, and the command fails."""
    rows = examine(str(weak), "0", "R1", every_check=False)
    alive = {row.parameter for row in rows if not row.sound}
    assert {"hold_cap", "hold_amount", "hold_error"} <= alive
    assert "hold_short" not in alive

    done = CliRunner().invoke(main, ["--task", str(weak), "--workers", "2"])
    assert done.exit_code == 1
    assert "hold_cap: 87 -> 88" in done.stderr
    assert "SURVIVES" in done.stdout


def test_a_reference_that_fails_is_no_proof() -> None:
    """Neither is a mutant that passes."""
    assert not Row("t", "R1", REFERENCE, "", None, ("R1",)).sound
    assert not Row("t", "R1", "x", "1", "2", ()).sound
    assert line(Row("t", "R1", REFERENCE, "", None, ("R1",))).endswith(" R1")


def test_json_and_unknown_tasks() -> None:
    """Rows for programs; a task that does not exist is a usage error that lists what does."""
    done = CliRunner().invoke(main, ["--task", "tier2_fintech", "--format", "json", "--workers", "2"])
    rows = json.loads(done.stdout)
    assert done.exit_code == 0
    assert {row["requirement"] for row in rows} == {f"R{number}" for number in range(1, 9)}
    assert "8 requirements, 0 not told from the right solution" in done.stderr

    done = CliRunner().invoke(main, ["--task", "tier9"])
    assert done.exit_code == 2
    assert "tier2_fintech" in done.stderr


def test_rows_come_in_the_order_of_tasks_and_requirements() -> None:
    """Whatever process is through first."""
    rows = list(table(["tier1_metering"], workers=2))
    order = [row.requirement for row in rows if row.wrong is None]
    assert order == list(load_task("tier1_metering").requirements)


def test_python_never_takes_one_mutant_for_the_next(tmp_path: Path) -> None:
    """Texts of the same length, written within a second, have different times; what is gone is deleted."""
    folder = Folder(tmp_path)
    times = []
    for text in (b"A = 1\n", b"A = 2\n", b"A = 2\n", b"A = 1\n"):
        folder.hold({"pkg/a.py": text, "pkg/b.py": b""})
        times.append((tmp_path / "pkg/a.py").stat().st_mtime)
    assert times[1] == times[2]
    assert len(set(times)) == 3
    folder.hold({"pkg/a.py": b""})
    assert [path.name for path in (tmp_path / "pkg").iterdir()] == ["a.py"]
