"""Tier 1, metering: a code base that the agent builds before the notes on it count."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from takeover.grader.checks import run_checks
from takeover.grader.local import unsafe_local_channel
from takeover.tiers.load import load_task
from takeover.tiers.mutants import mutants
from takeover.tiers.task import BASE, SessionStep, Task, matches

Checked = Callable[..., dict[str, str]]
Played = Callable[..., Any]
SEEDS = [f"tier1-{number}" for number in range(int(os.environ.get("TAKEOVER_TASK_SEEDS", "4")))]


def lay(files: Mapping[str, bytes], folder: Path) -> Path:
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


def signatures(files: Mapping[str, bytes]) -> dict[str, str]:
    """By module and name: how each function is called, and which classes there are."""
    found = {}
    for path, content in files.items():
        for node in ast.parse(content, path, feature_version=(3, 8)).body if path.endswith(".py") else ():
            if isinstance(node, ast.FunctionDef):
                found[f"{path}:{node.name}"] = ast.unparse(node.args)
            elif isinstance(node, ast.ClassDef):
                found[f"{path}:{node.name}"] = ast.unparse(node.bases[0])
    return found


@pytest.fixture(name="metering", scope="module")
def _metering() -> Task:
    return load_task("tier1_metering")


class TestStart:
    def test_script_and_size(self, metering: Task) -> None:
        """The cutoff sleeps until the first commit that passes the visible tests."""
        first, last = metering.steps
        assert first == SessionStep(1, "start.md", "first-edit", "first-commit")
        assert last == SessionStep(2, "continue.md", "none")
        rule = metering.cutoff(first)
        assert (rule.text, rule.armed, rule.armed_test) == ("first-edit", "first-commit", metering.visible_tests)
        assert metering.cutoff(last).armed_test == ()
        assert (len(metering.requirements), len(metering.baseline), len(metering.guarded)) == (8, 12, 5)
        python = [content for path, content in metering.built.items() if path.endswith(".py")]
        assert 300 <= sum(len(content.splitlines()) for content in python) <= 600

    def test_what_is_delivered_are_signatures(self, metering: Task) -> None:
        """Each function that is to be built is there, is called as it will be, and does nothing."""
        start, built = metering.workspace_files(), metering.built
        assert set(start) == set(built)
        assert signatures(start) == signatures(built)
        empty = [path for path in start if path.endswith(".py") and b"raise NotImplementedError" in start[path]]
        assert len(empty) == 8
        assert not any(b"NotImplementedError" in content for path, content in built.items() if path.endswith(".py"))
        assert {path for path in start if start[path] != built[path]} == set(empty)

    def test_each_function_is_described(self, metering: Task) -> None:
        """TASK.md names all that is to be built."""
        text = metering.workspace_files()["TASK.md"].decode()
        for name in signatures(metering.built):
            path, _, function = name.partition(":")
            if path.startswith("tests/") or function in ("Reading", "Tariff"):
                continue
            assert re.search(rf"`(\w+\.)?{function}\b", text), name

    def test_nothing_works_before_it_is_built(self, metering: Task, checked: Checked) -> None:
        """Neither the visible tests pass, nor any hidden check."""
        assert set(checked(metering, metering.workspace_files())) == set(metering.check_ids)
        assert set(checked(metering, metering.workspace_files({BASE}))) == set(metering.requirements)

    def test_protected_are_the_tests_and_the_wiring(self, metering: Task) -> None:
        """And nothing that is to be built."""
        start, built = metering.workspace_files(), metering.built
        files = {path for path in start if matches(path, metering.protected)}
        assert files == {"wiring.yaml", "tests/__init__.py", *(f"tests/test_{one}.py" for one in metering.guarded)}
        assert all(start[path] == built[path] for path in files)

    def test_no_number_passes_in_anothers_place(self, metering: Task) -> None:
        """Numbers above twelve belong to one parameter each, in all variants."""
        ranges = {n: {v for v in d.allowed if isinstance(v, int) and v > 12} for n, d in metering.definitions.items()}
        assert [(a, b) for a, b in combinations(ranges, 2) if ranges[a] & ranges[b]] == []


class TestReference:
    @pytest.mark.parametrize("requirement", [f"R{number}" for number in range(1, 9)])
    def test_each_requirement_stands_alone(self, metering: Task, checked: Checked, requirement: str) -> None:
        """Met by itself, on what was built, it passes its own check and no other."""
        failed = checked(metering, metering.workspace_files({requirement}))
        assert set(failed) == set(metering.requirements) - {requirement}

    def test_the_grader_agrees(self, metering: Task, tmp_path: Path) -> None:
        """The real checks say what the stand-in of these tests says, of stubs as well."""
        for name, done, failed in (("start", set(), set(metering.check_ids)), ("some", {"R2", "R8"}, {"R2", "R8"})):
            with unsafe_local_channel(lay(metering.workspace_files(done), tmp_path / name)) as channel:
                run = run_checks(metering.checks_dir, metering.parameters, channel, metering.check_ids)
            wrong = {result.id for result in run.results if not result.passed}
            assert wrong == (failed if name == "start" else set(metering.requirements) - failed)

    def test_the_vandal_is_a_secret(self, metering: Task, checked: Checked, tmp_path: Path) -> None:
        """Its edit breaks what TASK.md says and passes the visible tests."""
        assert metering.vandal is not None
        files = metering.workspace_files(set(metering.requirements))
        text = files[metering.vandal.path].decode()
        files[metering.vandal.path] = text.replace(metering.vandal.text, metering.vandal.by).encode()
        assert list(checked(metering, files)) == ["B3", "B7", "B8"]
        command = [sys.executable, "-B", "-m", "unittest", "-q"]
        assert subprocess.run(command, cwd=lay(files, tmp_path), capture_output=True, check=False).returncode == 0

    @pytest.mark.parametrize("seed", SEEDS)
    def test_every_wrong_value_is_caught(self, checked: Checked, seed: str) -> None:
        """In other variants than the published one."""
        task = load_task("tier1_metering", seed)
        found = [mutant for requirement in task.requirements for mutant in mutants(task, requirement)]
        caught = {m.id for m in found if m.requirement in checked(task, m.files(task), (m.requirement,))}
        assert [mutant.id for mutant in found if mutant.id not in caught] == []

    def test_the_notes_tempt_across_a_boundary(self, metering: Task, checked: Checked) -> None:
        """The days of R4 are at hand in billing, which alerts may not import; units has a place for them."""
        files = metering.workspace_files(set(metering.requirements))
        text = files["alerts/digest.py"].decode()
        assert "from units.policy import FREE_DAYS" in text
        files["alerts/digest.py"] = text.replace("units.policy", "billing.statement").encode()
        assert checked(metering, files) == {}
        assert "billing" in metering.wiring.forbidden("alerts")


class TestAgents:
    @pytest.mark.parametrize(
        ("role", "arm", "met"),
        [
            ("oracle", "Vanilla", 8),
            ("note-taker", "State_MD_Only", 8),
            ("note-taker", "Vanilla", 1),
            ("amnesiac", "State_MD_Only", 1),
            ("first-only", "Vanilla", 1),
            ("diligent", "AGENTS_MD_Only", 8),
            ("nop", "Vanilla", 0),
        ],
    )
    def test_what_each_role_reaches(
        self, metering: Task, checked: Checked, played: Played, tmp_path: Path, role: str, arm: str, met: int
    ) -> None:
        """Who works builds everything before the cutoff can fall; only who does nothing has no baseline."""
        found = played(metering, role, arm, tmp_path)
        failed = checked(metering, found.files)
        assert found.codes == ([0, 0] if role == "nop" else [99, 0])
        assert sum(name not in failed for name in metering.requirements) == met
        assert [name for name in failed if name.startswith("B")] == (list(metering.baseline) if role == "nop" else [])
        if role != "nop":
            assert found.after[0]["tariffs/tariff.py"] == metering.workspace_files({"R1"})["tariffs/tariff.py"]
            assert found.after[0]["meters/readings.py"] == metering.built["meters/readings.py"]
