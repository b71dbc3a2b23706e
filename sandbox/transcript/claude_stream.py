"""Claude Code's stream: what `claude -p --output-format stream-json --verbose` prints, one record a line."""

from __future__ import annotations

from . import usage
from .building import Builder
from .claude import Turns
from .model import FinalMetrics, Metrics, Transcript
from .node import Node
from .reading import Input
from .report import ImportReport

_MODEL_USAGE = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "cacheReadInputTokens": "cache_read_input_tokens",
    "cacheCreationInputTokens": "cache_creation_input_tokens",
}


def is_record(record: object) -> bool:
    """Whether a line is a record of the stream."""
    return (
        isinstance(record, dict)
        and isinstance(record.get("session_id"), str)
        and record.get("type") in ("system", "assistant", "user", "result", "stream_event")
    )


def load(given: Input) -> tuple[Transcript, ImportReport]:
    """Import one stream."""
    build = Builder(given.label, "claude-stream", given.caps, "claude-code")
    turns = Turns(build)
    prompted = compacted = False
    seen: set[str] = set()
    for line in given.lines():
        if line.torn:
            build.tally.drop("torn_line", "a last line that ends in the middle")
            break
        record = line.node
        record.mapping()
        kind, uuid = record.at("type").maybe(), record.at("uuid").maybe()
        if uuid is not None and uuid in seen:
            build.tally.drop("duplicate", "a record written again under the same uuid")
            continue
        seen.add(uuid or "")
        if record.at("parent_tool_use_id").maybe():
            build.tally.drop("side_chain", "a message of a subagent")
        elif kind == "assistant":
            turns.assistant(record.at("message"), timestamp=record.at("timestamp").maybe())
        elif kind == "user":
            before = len(build.drafts)
            turns.user(
                record.at("message"), record.at("tool_use_result"),
                timestamp=record.at("timestamp").maybe(), copied=compacted,
            )  # fmt: skip
            prompted = prompted or (before == 0 and len(build.drafts) > 0)
            compacted = compacted and len(build.drafts) == before
        elif kind == "system":
            compacted = _system(build, record) or compacted
        elif kind == "result":
            _result(build, record)
        else:
            build.tally.drop("event", "a record that is no message")
    if not prompted:
        build.tally.warn(f"{given.label}: the stream does not hold the prompt")
    transcript, report = build.finish()
    return transcript, report


def _system(build: Builder, record: Node) -> bool:
    """Take in a record of the program itself; whether it was a compaction."""
    subtype = record.at("subtype").maybe()
    if subtype == "compact_boundary":
        build.tally.drop("compaction", "the agent went on from a summary; what it summarised stays in the transcript")
        return True
    if subtype == "init":
        build.session_id = record.at("session_id").maybe()
        build.cwd = build.cwd or record.at("cwd").maybe()
        build.model = record.at("model").maybe()
        build.version = build.agent_version = record.at("claude_code_version").maybe()
    else:
        build.tally.drop("event", "a record that is no message")
    return False


def _result(build: Builder, record: Node) -> None:
    """The closing record: what the program itself counted."""
    told = [_whole(build, model) for model in _members(record.at("modelUsage"))]
    if not told and (one := usage.anthropic(record.at("usage"), build.tally)) is not None:
        told = [one]
    known = [one for one in told if one is not None]
    cost = usage.cost_of(record.at("total_cost_usd"))
    if known or cost is not None:
        build.final = FinalMetrics(
            total_prompt_tokens=_sum(known, "prompt_tokens"),
            total_completion_tokens=_sum(known, "completion_tokens"),
            total_cached_tokens=_sum(known, "cached_tokens"),
            total_cost_usd=cost,
        )
    for name in ("subtype", "stop_reason"):
        if text := record.at(name).maybe():
            build.extra[f"result_{name}"] = text


def _members(node: Node) -> list[Node]:
    return [node.at(name) for name in node.dict_or_empty()]


def _whole(build: Builder, model: Node) -> Metrics | None:
    renamed = {new: model.at(old).value for old, new in _MODEL_USAGE.items()}
    return usage.anthropic(Node(renamed, model.place, model.path), build.tally)


def _sum(told: list[Metrics], name: str) -> int | None:
    known = [getattr(one, name) for one in told if getattr(one, name) is not None]
    return sum(known) if known else None
