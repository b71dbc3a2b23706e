"""ATIF itself, versions 1.0 to 1.8, brought to 1.8; and the journal of a transcript that is still being written."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from ..errors import InputError
from .building import validation_text
from .model import READABLE_VERSIONS, SCHEMA_VERSION, Transcript
from .node import Node
from .reading import Input, parse_json
from .report import ImportReport, Tally
from .text import one_line
from .writer import document_pieces


def is_document(value: object) -> bool:
    """Whether a JSON document calls itself ATIF."""
    return isinstance(value, dict) and str(value.get("schema_version", "")).startswith("ATIF")


def load(given: Input) -> tuple[Transcript, ImportReport]:
    """Read one document; what an older version wrote differently is upgraded."""
    root = _journal(given) if given.shape == "lines" else given.document()
    version = root.at("schema_version").text()
    if version not in READABLE_VERSIONS:
        known = f"{READABLE_VERSIONS[0]} to {READABLE_VERSIONS[-1]}"
        raise root.at("schema_version").fail(f"is {one_line(version, 40)!r}; this reads {known}")
    steps = root.at("steps").value
    if isinstance(steps, list) and len(steps) > given.caps.steps:
        raise root.at("steps").fail(f"has more than {given.caps.steps:,} steps; raise the cap or split it")
    tally = Tally()
    upgraded = _upgraded(root, tally)
    try:
        transcript = Transcript.model_validate(upgraded)
    except ValidationError as e:
        raise InputError(f"{given.label}: {validation_text(e)}") from e
    return transcript, tally.report(given.label, "atif", version)


def _journal(given: Input) -> Node:
    """What a journal amounts to so far: a session that still runs, or whose writer was killed."""
    pieces: list[str] = []
    size = 0
    for piece in document_pieces(given.path, given.label, given.caps):
        size += len(piece)
        if size > given.caps.document:
            raise InputError(f"{given.label}: amounts to more than {given.caps.document:,} bytes; raise the cap")
        pieces.append(piece)
    return Node(parse_json("".join(pieces), given.label, given.caps), given.label)


def _upgraded(root: Node, tally: Tally) -> dict[str, Any]:
    """The document as 1.8: before 1.7 a reference to a subagent could name nothing but its session."""
    document = dict(root.mapping())
    document["schema_version"] = SCHEMA_VERSION
    subs = root.at("subagent_trajectories")
    if isinstance(subs.value, list):
        document["subagent_trajectories"] = [_upgraded(sub, tally) for sub in subs.items()]
    if isinstance(root.at("steps").value, list):
        document["steps"] = [_step(step, tally) for step in root.at("steps").items()]
    return document


def _step(step: Node, tally: Tally) -> Any:
    results = step.at("observation").at("results")
    if not isinstance(results.value, list) or not any(_has_refs(one) for one in results.value):
        return step.value
    made = [_result(result, tally) for result in results.items()]
    return {**step.mapping(), "observation": {**step.at("observation").mapping(), "results": made}}


def _has_refs(result: object) -> bool:
    return isinstance(result, dict) and result.get("subagent_trajectory_ref") is not None


def _result(result: Node, tally: Tally) -> Any:
    if not _has_refs(result.value):
        return result.value
    made = dict(result.mapping())
    given = made["subagent_trajectory_ref"]
    refs = given if isinstance(given, list) else [given]
    kept = [ref for ref in refs if not _names_only_session(ref)]
    lost = [ref["session_id"] for ref in refs if _names_only_session(ref)]
    made["subagent_trajectory_ref"] = kept or None
    if lost:
        tally.drop("side_chain", "a reference to a subagent that names only its session", len(lost))
        extra = made.get("extra")
        made["extra"] = {**(extra if isinstance(extra, dict) else {}), "subagent_sessions": lost}
    return made


def _names_only_session(ref: object) -> bool:
    return (
        isinstance(ref, dict)
        and isinstance(ref.get("session_id"), str)
        and ref.get("trajectory_id") is None
        and ref.get("trajectory_path") is None
    )
