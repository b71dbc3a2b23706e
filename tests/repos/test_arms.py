"""The arms over a real codebase: a wording of their own, and nothing new for the tasks of the tiers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from takeover.repos.load import load_repo_task
from takeover.tiers.arms import arm_folders, load_arm
from takeover.tiers.load import load_task


@pytest.mark.parametrize("name", arm_folders())
def test_arms_name_no_file_that_a_codebase_lacks(name: str, folder: Path) -> None:
    """Neither TASK.md nor wiring.yaml, while the tiers keep theirs."""
    texts = {path: data.decode() for path, data in load_arm(name, load_repo_task(folder)).files.items()}
    rules = texts.get("AGENTS.md", "")
    assert not re.search(r"TASK\.md|wiring\.yaml|boundar", rules)
    assert "#:" not in "".join(texts.values())
    numbers = [int(one) for one in re.findall(r"^(\d+)\. ", rules, re.MULTILINE)]
    assert numbers == list(range(1, len(numbers) + 1))
    if texts:
        assert "TASK.md" in load_arm(name, load_task("tier2_fintech")).files["AGENTS.md"].decode()


def test_the_wordings_differ_in_their_rule_on_codebases_too(folder: Path) -> None:
    """Each of the four wordings of State.md is another arm there."""
    names = ("State_MD_Only", "State_MD_Rule4_Only_New", "State_MD_Detail_Preserving", "State_MD_In_Place")
    texts = [load_arm(name, load_repo_task(folder)).files["AGENTS.md"].decode().splitlines() for name in names]
    for other in texts[1:]:
        assert [line[:2] for line, plain in zip(other, texts[0], strict=True) if line != plain] == ["4."]


def test_a_map_is_made_of_a_codebase(folder: Path) -> None:
    """The tuned arms describe what is there."""
    assert b"tally/sums.py" in load_arm("Tuned_Reference", load_repo_task(folder)).files["app_map.md"]
