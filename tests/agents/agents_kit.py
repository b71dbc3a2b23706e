"""What every real agent is put through: a session that ends at its first edit, and another one that goes on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from modelkit import run_model, script_file
from trialruns import TASK

from takeover.sandbox.engine import DockerEngine
from takeover.sandbox.gateway.budget import Limits
from takeover.sandbox.gateway.settings import Pinned
from takeover.sandbox.images import RECIPES
from takeover.sandbox.store import SnapshotStore
from takeover.tiers.arms import load_arm
from takeover.tiers.load import load_task
from takeover.trials.agents import resolve_agent
from takeover.trials.model import ModelSettings
from takeover.trials.plan import Settings, make_plan
from takeover.trials.running import RunResult
from takeover.trials.sessions import SessionMeta, read_meta
from takeover.trials.signing import Signer

Turns = Sequence[dict[str, Any]]

NAMES = sorted(path.parent.name for path in RECIPES.glob("agents/*/recipe.yaml"))
# What `make test` has images of.
FAST = ("codex", "mini-swe-agent", "takeover-agent")

MODEL = "takeover-model"
RECORDING = "recording.jsonl"
# As agents write the day: 2026-11-30; Monday, November 30, 2026; Mon Nov 30 2026.
DATES = ("%Y-%m-%d", "%A, %B %d, %Y", "%A, %B %-d, %Y", "%a %b %d %Y", "%m/%d/%Y", "%-m/%-d/%Y")
NOTES, SOURCE, LATE = "state.md", "ledger/accounts.py", "late.py"
NOTE = "- R1 is begun in ledger/accounts.py\n"
BEFORE, FIRST, SECOND = (f'"""The chart of accounts{more}."""' for more in ("", ", begun", ", done"))

WRITE_NOTES = {"say": "Notes first.", "write": {"path": NOTES, "content": NOTE}}
EDIT = {"edit": {"path": SOURCE, "old": BEFORE, "new": FIRST}}
GIVING: Turns = (
    WRITE_NOTES,
    {"read": SOURCE},
    EDIT,
    # Only an agent that was not cut off comes to this.
    {"write": {"path": LATE, "content": "x = 1\n"}},
    {"finish": "Done."},
)
TAKING: Turns = (
    {"shell": f"cat {NOTES}; git log --oneline | head -n 3"},
    {"read": SOURCE},
    {"edit": {"path": SOURCE, "old": FIRST, "new": SECOND}},
    {"finish": "Done."},
)
LOOKING: Turns = ({"shell": "git status --short"},) * 3
# Agents that do less than that: their own turns in either session.
SCRIPTS: dict[str, tuple[Turns, Turns]] = {
    # aider has no tools and one answer: all of it is text, and all files are in its prompt.
    "aider": (
        [{**WRITE_NOTES, **EDIT}],
        [{"edit": {"path": SOURCE, "old": FIRST, "new": SECOND}}],
    ),
}
# Agents that tell their model no date.
DATELESS = {"mini-swe-agent", "openhands", "takeover-agent"}
# What an agent leaves in a workspace beside its work, and cannot be told not to.
TRACES: dict[str, set[str]] = {"opencode": {".git/opencode"}}


def agent_params(*, fast: Sequence[str] = FAST) -> list[Any]:
    """Every agent that there is a recipe for; all but a few only run in `make test-agents`."""
    return [pytest.param(name, marks=[] if name in fast else [pytest.mark.agents]) for name in NAMES]


def other_than(name: str) -> str:
    """Another agent to take over from: the next in the list, of the fast ones or of the rest."""
    names = FAST if name in FAST else [one for one in NAMES if one not in FAST]
    return names[(names.index(name) + 1) % len(names)]


def turns(giver: str, taker: str) -> tuple[Turns, Turns]:
    """The script of two sessions."""
    return SCRIPTS.get(giver, (GIVING, TAKING))[0], SCRIPTS.get(taker, (GIVING, TAKING))[1]


def take_over(
    engine: DockerEngine,
    folder: Path,
    key: Signer,
    giver: str,
    taker: str,
    *,
    cassette: Path | None = None,
    limits: Limits | None = None,
) -> RunResult:
    """One trial: `giver` is cut off, `taker` goes on; answered by a script and recorded, or by a cassette."""
    folder.mkdir(parents=True, exist_ok=True)
    pinned = Pinned(model=MODEL)
    if cassette is None:
        script = script_file(folder / "script.yaml", *(turns(giver, taker) if limits is None else (LOOKING, LOOKING)))
        limits = limits or Limits()
        model = ModelSettings(source="script", file=script, pinned=pinned, trial=limits, record=folder / RECORDING)
    else:
        model = ModelSettings(source="replay", file=cassette, pinned=pinned)
    task = load_task(TASK, "0")
    receiver = None if taker == giver else resolve_agent(taker)
    plan = make_plan(
        [(task, load_arm("Vanilla", task))],
        [resolve_agent(giver)],
        settings=Settings(model=model),
        receivers=[receiver],
    )
    return run_model(engine, folder / "run", plan, key)


def on_another_day(recording: str) -> str:
    """A recording as it would have come out two years and some days later: every way to write today's date."""
    today = datetime.now(UTC)
    moved = today + timedelta(days=733)
    for form in DATES:
        recording = recording.replace(today.strftime(form), moved.strftime(form))
    return recording


def metas(result: RunResult) -> list[SessionMeta]:
    """The records of both sessions."""
    (name,) = result.planned
    return [read_meta(result.paths.trial(name).step(number, "session")) for number in (1, 2)]


def transcripts(result: RunResult) -> list[dict[str, Any]]:
    """What both sessions' agents said to their model, and it to them."""
    (name,) = result.planned
    return [json.loads(result.paths.trial(name).step(number, "session").transcript.read_bytes()) for number in (1, 2)]


def changed(result: RunResult, start: str, end: str) -> set[str]:
    """The paths that differ between two snapshots; folders are no news."""
    store = SnapshotStore(result.paths.snapshots)
    one, other = (store.manifest(sha.removeprefix("sha256:")) for sha in (start, end))
    return {
        path
        for path in {*one, *other}
        if one.get(path) != other.get(path)
        and "d" not in {item.kind for item in (one.get(path), other.get(path)) if item}
    }


def text_of(result: RunResult, snapshot: str, path: str) -> str:
    """A file of a snapshot."""
    store = SnapshotStore(result.paths.snapshots)
    return store.read_files(snapshot.removeprefix("sha256:"), lambda item: item.path == path)[path].decode()


def said(result: RunResult, session: int) -> str:
    """The tool calls of a session, as JSON; of an agent without tools, what its model wrote."""
    steps = transcripts(result)[session - 1]["steps"]
    calls = [step.get("tool_calls") or step.get("message") for step in steps if step["source"] == "agent"]
    return json.dumps(calls)


def seen(result: RunResult, session: int) -> str:
    """What a session's tools answered, or what its prompts held, as JSON."""
    steps = transcripts(result)[session - 1]["steps"]
    return json.dumps([step.get("observation") or step.get("message") for step in steps])
