"""What an image says of its agent comes from a label, and a label is a stranger's word."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from takeover.sandbox.errors import InputError
from takeover.sandbox.gateway.volatile import COMMON, PLACEHOLDER, Volatile, stable
from takeover.sandbox.sandbox import ImageInfo
from takeover.trials.agents import LABEL, Recipe, read_recipe, recipe_of

IMAGES = Path(__file__).resolve().parents[2] / "images" / "agents"
FILES = sorted(IMAGES.glob("*/recipe.yaml"))
PLAIN = ImageInfo("mine:1", "sha256:0", None, "", (), (), {})
GOOD = {"schema_version": 1, "version": "1.2.3", "formats": ["chat"]}


def labelled(text: str) -> ImageInfo:
    return replace(PLAIN, labels={LABEL: text})


def test_an_image_without_a_label_is_an_agent_too() -> None:
    """Its turns are the calls with tools, and what any agent prints may differ."""
    assert recipe_of(PLAIN) == Recipe()
    assert (Recipe().turns, Recipe().volatile) == ("tools", COMMON)


def test_a_label_says_how_the_agent_is_read() -> None:
    """Version, formats, turns; what it declares volatile comes on top of what always is."""
    label = {**GOOD, "turns": "all", "model": "m-1", "volatile": {"fields": ["user"], "patterns": ["id=([0-9]+)"]}}

    assert recipe_of(labelled(json.dumps(label))) == Recipe(
        "1.2.3", ("chat",), "m-1", "all", COMMON + Volatile(("user",), ("id=([0-9]+)",))
    )


BAD = {
    "no JSON": ("{", "not JSON"),
    "a list": ("[]", "valid dictionary"),
    "deep": ("[" * 900, "JSON|nested"),
    "long": (json.dumps({**GOOD, "version": "1" * 40_000}), "longer than"),
    "key twice": ('{"schema_version": 1, "schema_version": 1}', "twice"),
    "NaN": ('{"schema_version": NaN}', "number|NaN"),
    "no version": (json.dumps({**GOOD, "version": None}), r"\$\.version"),
    "version with a newline": (json.dumps({**GOOD, "version": "1\n"}), r"\$\.version"),
    "another schema": (json.dumps({**GOOD, "schema_version": 2}), r"\$\.schema_version"),
    "unknown format": (json.dumps({**GOOD, "formats": ["smoke"]}), r"\$\.formats"),
    "no format": (json.dumps({**GOOD, "formats": []}), r"\$\.formats"),
    "unknown key": (json.dumps({**GOOD, "command": "rm"}), r"\$\.command"),
    "unknown turns": (json.dumps({**GOOD, "turns": "some"}), r"\$\.turns"),
    "wrong volatile": (json.dumps({**GOOD, "volatile": {"patern": []}}), r"\$\.volatile.*patern"),
    "wrong pattern": (json.dumps({**GOOD, "volatile": {"patterns": ["("]}}), r"\$\.volatile.*patterns\[0\]"),
    "exponential": (json.dumps({**GOOD, "volatile": {"patterns": ["(a+)+$"]}}), r"patterns\[0\].*repeats a group"),
    "a group many times": (json.dumps({**GOOD, "volatile": {"patterns": ["(a|b){9,}c"]}}), "repeats a group"),
    "reference": (json.dumps({**GOOD, "volatile": {"patterns": [r"(a*)\1"]}}), "repeats a group"),
    "exponential, spelt out": (json.dumps({**GOOD, "volatile": {"patterns": [r"(?x)(a+) +b"]}}), "repeats a group"),
    "slow": (json.dumps({**GOOD, "volatile": {"patterns": [r"\w*\w*\w*!"]}}), "repeats too often"),
    "slow within bounds": (json.dumps({**GOOD, "volatile": {"patterns": [r"a{0,999}" * 3]}}), "repeats too often"),
    "many patterns": (json.dumps({**GOOD, "volatile": {"patterns": ["a"] * 51}}), "more than 50"),
    "long pattern": (json.dumps({**GOOD, "volatile": {"patterns": ["a" * 400]}}), "too long"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "why"), BAD.values(), ids=BAD)
def test_a_label_that_cannot_be_is_refused(text: str, why: str) -> None:
    """With the image, the label and the field in one line."""
    with pytest.raises(InputError, match=why) as refused:
        recipe_of(labelled(text))
    assert str(refused.value).startswith(f"image 'mine:1': label {LABEL}")
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name)
def test_the_recipes_that_we_ship(path: Path) -> None:
    """Each can be read as a label, and stands beside a Dockerfile."""
    assert read_recipe(yaml.safe_load(path.read_text()), str(path)).version
    assert (path.parent / "Dockerfile").is_file()


def test_what_agents_make_up_is_left_out() -> None:
    """What Codex and Claude Code make up anew in each run is left out of their requests."""
    codex, claude = (
        read_recipe(yaml.safe_load((IMAGES / name / "recipe.yaml").read_text()), name).volatile
        for name in ("codex", "claude-code")
    )
    asked = {
        "input": [{"id": "x", "content": "Chunk ID: 7f\nWall time: 0.1"}],
        "prompt_cache_key": "k",
        "client_metadata": {"x": 1},
    }
    billed = {"metadata": {"user_id": "u"}, "system": [{"text": "x-anthropic-billing-header: v=1; cch=a1b2c;"}]}

    assert stable(asked, codex) == {"input": [{"content": f"Chunk ID: {PLACEHOLDER}\nWall time: {PLACEHOLDER}"}]}
    assert stable(billed, claude) == {"system": [{"text": PLACEHOLDER}]}
