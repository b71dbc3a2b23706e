"""docs/scorecard.md tells of every field that a scorecard has."""

from __future__ import annotations

from pathlib import Path

import pytest

from takeover.grader import scorecard

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "scorecard.md").read_text()


@pytest.mark.parametrize(
    "name", [*scorecard.Retention.model_fields, "outcome", "schema_version", "omitted", "provenance"]
)
def test_the_page_names_every_part(name: str) -> None:
    """A field that nobody can look up is of no use."""
    assert f"`{name}" in PAGE or f".{name}`" in PAGE or f"**{name.capitalize()}" in PAGE


def test_the_page_names_every_kind() -> None:
    """The words that programs compare with stand there as they are written."""
    kinds = ["graded", "agent_failure", "machinery_failure", "metered", "self_reported", "declared", "unknown"]
    kinds += ["assertion", "subject", "error", "tampered", "dynamic_import", "unparsable"]

    assert [kind for kind in kinds if f"`{kind}`" not in PAGE] == []
