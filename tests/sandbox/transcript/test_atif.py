"""ATIF: every version is read, and what breaks its rules is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from takeover.sandbox.errors import InputError
from takeover.sandbox.transcript.model import READABLE_VERSIONS
from takeover.sandbox.transcript.sniff import import_file

SAMPLES = Path(__file__).parent / "samples"


def _document() -> dict[str, Any]:
    return dict(json.loads((SAMPLES / "atif_1_8.json").read_text()))


def _write(tmp_path: Path, document: dict[str, Any]) -> Path:
    path = tmp_path / "t.json"
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize("version", READABLE_VERSIONS)
def test_every_version_reads_as_the_latest(tmp_path: Path, version: str) -> None:
    """1.0 to 1.8 are accepted; the report says which it was."""
    transcript, report = import_file(_write(tmp_path, {**_document(), "schema_version": version}))

    assert ("ATIF-v1.8", version) == (transcript.schema_version, report.version)


def test_an_unknown_version_is_refused(tmp_path: Path) -> None:
    """A later version may mean something else by the same words."""
    with pytest.raises(InputError, match=r"\$\.schema_version: is 'ATIF-v2\.0'; this reads ATIF-v1\.0 to ATIF-v1\.8"):
        import_file(_write(tmp_path, {**_document(), "schema_version": "ATIF-v2.0"}))


def test_a_reference_that_names_only_a_session_is_kept_as_a_note() -> None:
    """Before 1.7 a subagent could be named by its session alone, which resolves to nothing now."""
    transcript, report = import_file(SAMPLES / "atif_1_2.json")

    observation = transcript.steps[1].observation

    assert observation is not None
    assert {"subagent_sessions": ["sub-1"]} == observation.results[0].extra
    assert [("side_chain", 1)] == [(one.kind, one.count) for one in report.dropped]


WRONG: dict[str, tuple[list[Any], Any, str]] = {
    "a field nobody knows": (["steps", 0, "mood"], "good", r"\$\.steps\[0\]\.mood: Extra inputs are not permitted"),
    "steps out of order": (["steps", 1, "step_id"], 7, r"\$: step_id 7 stands where 2 is due"),
    "no steps": (["steps"], [], r"\$\.steps: "),
    "a time that is none": (["steps", 0, "timestamp"], "noon", r"\$\.steps\[0\]\.timestamp: write it as ISO 8601"),
    "metrics of the user": (["steps", 0, "metrics"], {}, r"\$\.steps\[0\]: `metrics` belongs to steps of the agent"),
    "a result for no call": (
        ["steps", 2, "observation", "results", 0, "source_call_id"],
        "c9",
        r"\$\.steps\[2\]: result for 'c9', which this step did not call",
    ),
    "negative tokens": (["steps", 2, "metrics", "prompt_tokens"], -1, r"prompt_tokens: Input should be greater"),
    "tokens as text": (
        ["steps", 2, "metrics", "prompt_tokens"],
        "9",
        r"prompt_tokens: Input should be a valid integer",
    ),
    "an image without source": (["steps", 1, "message", 1], {"type": "image"}, r"\$\.steps\[1\]\.message.*`source`"),
    "two calls of one id": (
        ["steps", 2, "tool_calls"],
        [{"tool_call_id": "c1", "function_name": "f", "arguments": {}}] * 2,
        r"\$\.steps\[2\]: two calls of this step have the same `tool_call_id`",
    ),
    "arguments that are no object": (["steps", 2, "tool_calls", 0, "arguments"], "x", r"arguments: Input should be"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_breaks_a_rule_is_named(tmp_path: Path, name: str) -> None:
    """The JSON path and the reason stand in the message."""
    where, value, says = WRONG[name]
    document = _document()
    holder: Any = document
    for key in where[:-1]:
        holder = holder[key]
    holder[where[-1]] = value

    with pytest.raises(InputError, match=says):
        import_file(_write(tmp_path, document))


def test_embedded_subagents_are_kept(tmp_path: Path) -> None:
    """A trajectory inside a trajectory needs an id of its own, and is read by the same rules."""
    inner = {**_document(), "trajectory_id": "sub"}

    transcript, _ = import_file(_write(tmp_path, {**_document(), "subagent_trajectories": [inner]}))

    assert transcript.subagent_trajectories is not None
    assert "sub" == transcript.subagent_trajectories[0].trajectory_id
    with pytest.raises(InputError, match="needs a `trajectory_id` of its own"):
        import_file(_write(tmp_path, {**_document(), "subagent_trajectories": [inner, inner]}))
