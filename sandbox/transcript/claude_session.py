"""Claude Code's session file: a graph of records, in which the user may have gone back, forked or compacted.

The transcript is the way from the last message back to its root, across compactions. What lies beside that way
(branches, side chains) is counted and left out.
"""

from __future__ import annotations

from dataclasses import dataclass

from .building import Builder
from .claude import Turns
from .model import Transcript
from .node import Node
from .reading import Input
from .report import ImportReport

_MESSAGES = ("user", "assistant")


def is_record(record: object) -> bool:
    """Whether a line is a record of a session file."""
    if not isinstance(record, dict) or not isinstance(record.get("type"), str):
        return False
    return ("uuid" in record and "parentUuid" in record and "sessionId" in record) or (
        record["type"] in ("summary", "file-history-snapshot", "queue-operation")
        and ("leafUuid" in record or "messageId" in record or "sessionId" in record)
    )


@dataclass(eq=False)
class _Record:
    node: Node
    index: int
    uuid: str
    kind: str
    side: bool

    @property
    def message(self) -> Node:
        return self.node.at("message")

    def parent(self) -> str | None:
        return self.node.at("parentUuid").maybe() or self.node.at("logicalParentUuid").maybe()

    def is_boundary(self) -> bool:
        return self.node.at("subtype").value == "compact_boundary" or self.node.at("isCompactSummary").value is True


def load(given: Input) -> tuple[Transcript, ImportReport]:
    """Import one session."""
    build = Builder(given.label, "claude-session", given.caps, "claude-code")
    records = _read(given, build)
    side_only = all(record.side for record in records if record.kind in _MESSAGES)
    main = [record for record in records if record.side == side_only]
    chosen = _chosen(main, build)
    messages = [record for record in main if record.kind in _MESSAGES]
    build.tally.drop("branch", "a message on a way not taken", sum(1 for one in messages if one.index not in chosen))
    sides = sum(1 for record in records if record.side != side_only and record.kind in _MESSAGES)
    build.tally.drop("side_chain", "a message of a subagent", sides)
    if side_only and messages:
        build.extra["side_chain"] = True
    boundaries = sum(1 for record in main if record.node.at("subtype").value == "compact_boundary")
    note = "the agent went on from a summary; what it summarised stays in the transcript"
    build.tally.drop("compaction", note, boundaries)
    _steps(build, [record for record in main if record.index in chosen])
    return build.finish()


def _read(given: Input, build: Builder) -> list[_Record]:
    records: list[_Record] = []
    seen: set[str] = set()
    for line in given.lines():
        if line.torn:
            build.tally.drop("torn_line", "a last line that ends in the middle")
            break
        line.node.mapping()
        kind, uuid = line.node.at("type").maybe() or "", line.node.at("uuid").maybe()
        if uuid is None or kind not in (*_MESSAGES, "system", "attachment", "progress"):
            build.tally.drop("event", "a record that is no message")
        elif uuid in seen:
            build.tally.drop("duplicate", "a record written again under the same uuid")
        else:
            seen.add(uuid)
            side = line.node.at("isSidechain").value is True
            records.append(_Record(line.node, len(records), uuid, kind, side))
    return records


def _chosen(main: list[_Record], build: Builder) -> set[int]:
    """The indices of the records on the way from the last message to its root, and what belongs to them."""
    by_uuid = {record.uuid: record for record in main}
    position = {record.index: place for place, record in enumerate(main)}
    chosen: set[int] = set()
    current = next((record for record in reversed(main) if record.kind in _MESSAGES), None)
    while current is not None and current.index not in chosen:
        chosen.add(current.index)
        name = current.parent()
        place = position[current.index]
        if name is not None and name in by_uuid:
            current = by_uuid[name]
        elif place and (name is not None or current.is_boundary()):
            # The parent is missing from the file, or a compaction cut the link: what stands before it is meant.
            if name is not None:
                build.tally.warn(f"{current.node.place}: parentUuid names no record of this file; took the one before")
            current = main[place - 1]
        else:
            current = None
    _complete(main, chosen)
    return chosen


def _complete(main: list[_Record], chosen: set[int]) -> None:
    """Add what is on no straight way though it happened: other lines of the same answer, and results of its calls."""
    answers = {name for one in main if one.index in chosen and (name := one.message.at("id").maybe())}
    chosen.update(one.index for one in main if one.kind == "assistant" and one.message.at("id").maybe() in answers)
    # Newer compactions keep some messages, and the way leads over them past the summary: it was read all the same.
    chosen.update(one.index for one in main if one.node.at("isCompactSummary").value is True)
    calls: set[str] = set()
    done: set[str] = set()
    for record in main:
        if record.index in chosen:
            calls.update(_ids(record, "tool_use", "id"))
            done.update(_ids(record, "tool_result", "tool_use_id"))
    for record in main:
        if record.index not in chosen and record.kind == "user":
            results = _ids(record, "tool_result", "tool_use_id")
            if results and results <= calls and not results & done:
                chosen.add(record.index)
                done |= results


def _ids(record: _Record, kind: str, name: str) -> set[str]:
    content = record.message.at("content").value
    blocks = content if isinstance(content, list) else []
    return {
        block[name]
        for block in blocks
        if isinstance(block, dict) and block.get("type") == kind and isinstance(block.get(name), str)
    }


def _steps(build: Builder, records: list[_Record]) -> None:
    turns = Turns(build)
    last = records[-1].node if records else Node(None, build.source)
    build.session_id = last.at("sessionId").maybe()
    build.version = build.agent_version = last.at("version").maybe()
    for record in records:
        node = record.node
        cwd = node.at("cwd").maybe()
        build.cwd = build.cwd or cwd
        copied = node.at("isCompactSummary").value is True or bool(node.at("forkedFrom"))
        session = node.at("sessionId").maybe()
        copied = copied or (session is not None and session != build.session_id)
        moved = cwd if cwd != build.cwd else None
        stamp = node.at("timestamp").maybe()
        if record.kind == "assistant":
            failed = True if node.at("isApiErrorMessage").value is True else None
            turns.assistant(record.message, timestamp=stamp, copied=copied, cwd=moved, api_error=failed)
            build.model = build.model or record.message.at("model").maybe()
        elif record.kind == "user":
            meta = True if node.at("isMeta").value is True else None
            detail = node.at("toolUseResult")
            turns.user(record.message, detail, timestamp=stamp, copied=copied, cwd=moved, meta=meta)
        elif node.at("subtype").value != "compact_boundary":
            build.tally.drop("event", "a record that is no message")
