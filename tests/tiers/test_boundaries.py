"""wiring.yaml as the grader sees it."""

from __future__ import annotations

from pathlib import Path

import pytest

from takeover.sandbox.errors import InputError
from takeover.tiers.boundaries import Boundary, load_wiring

GOOD = """\
version: 1
packages: {top: a, left: b, right: c, base: d}
layers:
  - [top]
  - [left, right]
  - [base]
boundaries:
  - package: left
    may_not_import: [top]
    why: because
"""

BROKEN = {
    "unknown package": (GOOD.replace("package: left", "package: lift"), "w:8: boundaries.0.package: lift is not among"),
    "unknown import": (
        GOOD.replace("[top]\n    why", "[tip]\n    why"),
        "w:9: boundaries.0.may_not_import: tip is not",
    ),
    "itself": (GOOD.replace("[top]\n    why", "[left]\n    why"), "w:8: boundaries.0: left cannot be kept from"),
    "unknown layer": (GOOD.replace("- [base]", "- [bass]"), "w:6: layers.2: bass is not among the packages"),
    "two places": (GOOD.replace("- [base]", "- [base, top]"), "w:4: layers.0: top stands in two places"),
    "unknown field": (GOOD + "extra: 1\n", "w:11: extra: Extra inputs are not permitted"),
    "no reason": (GOOD.replace("    why: because\n", ""), "w:8: boundaries.0.why: Field required"),
}


def wiring(folder: Path, text: str) -> Path:
    path = folder / "wiring.yaml"
    path.write_text(text)
    return path


def test_layers_become_boundaries(tmp_path: Path) -> None:
    """A package may import from below only; what a rule of its own forbids is not said twice."""
    found = load_wiring(wiring(tmp_path, GOOD), "w")

    assert found.packages == ("top", "left", "right", "base")
    assert found.boundaries[0] == Boundary("left", ("top",), "because", "boundaries[0]")
    assert {rule.package: rule.may_not_import for rule in found.boundaries[1:]} == {
        "left": ("right",),
        "right": ("top", "left"),
        "base": ("top", "left", "right"),
    }
    assert found.forbidden("left") == {"top", "right"}


@pytest.mark.parametrize("name", list(BROKEN))
def test_errors_name_the_line(tmp_path: Path, name: str) -> None:
    """File, line, field, and what is wrong."""
    text, message = BROKEN[name]
    with pytest.raises(InputError) as caught:
        load_wiring(wiring(tmp_path, text), "w")

    assert str(caught.value).startswith(message)
