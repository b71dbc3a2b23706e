"""Sessions: what goes in, what comes out, what is written down, and what a new session does not see."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakes import FakeEngine, FakeSandbox

from takeover.sandbox.cutoff import CutoffRule, parse
from takeover.sandbox.engine import Engine
from takeover.sandbox.errors import ImageUnfit, SandboxDied, StorageError
from takeover.sandbox.limits import Limits
from takeover.sandbox.sandbox import RunResult
from takeover.sandbox.session import AgentSpec, SessionLog, SessionResult, SessionSpec, run_session
from takeover.sandbox.snapshot import Omission, Snapshot
from takeover.sandbox.store import SnapshotStore
from takeover.sandbox.workspace import CommitSpec, build_repository

FILES = {"a.py": b"x = 1\n", "README.md": b"hello\n"}
HISTORY = [CommitSpec("Start", "Ada", "ada@example.com", "2026-01-05T09:00:00+00:00", FILES)]


@pytest.fixture
def start(store: SnapshotStore) -> Snapshot:
    return build_repository(FILES, HISTORY, store)


@pytest.fixture
def log(tmp_path: Path) -> SessionLog:
    return SessionLog(tmp_path / "1-session/output.log", tmp_path / "1-session/events.jsonl")


def spec(*script: str, cutoff: str = "none", prompt: str = "Do it.", limits: Limits | None = None) -> SessionSpec:
    command = ("sh", "-c", "\n".join(script)) if script else None
    agent = AgentSpec("test", "sandbox", command, env={"EXTRA": "1"}, home_files={"agent/x.txt": b"mine"})
    return SessionSpec(agent, 2, prompt, parse(cutoff), limits or Limits(wall=60))


def events(log: SessionLog) -> list[dict]:
    return [json.loads(line) for line in log.events.read_text().splitlines()]


def test_the_agent_gets_what_the_contract_says(store: SnapshotStore, start: Snapshot, log: SessionLog) -> None:
    """Prompt as a file and in the environment, session number, HOME files; the image's own command by default."""
    seen: list[FakeSandbox] = []
    run_session(FakeEngine(seen.append), store, spec(), start, log=log)
    box = seen[0]

    assert box.argv == ("agent",)
    assert box.env == {
        "EXTRA": "1",
        "TAKEOVER_PROMPT": "Do it.",
        "TAKEOVER_PROMPT_FILE": "/run/takeover/prompt.md",
        "TAKEOVER_WORKSPACE": "/workspace",
        "TAKEOVER_SESSION": "2",
    }
    assert box.read("prompt.md", "run") == b"Do it."
    assert box.read("agent/x.txt", "home") == b"mine"
    assert box.read("a.py") == FILES["a.py"]


def test_a_long_prompt_comes_as_a_file_only(store: SnapshotStore, start: Snapshot, log: SessionLog) -> None:
    """Beyond 96 KiB the variable is left out, for the kernel would refuse the program."""
    seen: list[FakeSandbox] = []
    run_session(FakeEngine(seen.append), store, spec(prompt="é" * 50_000), start, log=log)

    assert "TAKEOVER_PROMPT" not in seen[0].env
    assert len(seen[0].read("prompt.md", "run")) == 100_000


def test_what_is_left_is_stored_with_what_was_left_out(store: SnapshotStore, start: Snapshot, log: SessionLog) -> None:
    """The snapshot is that of the workspace; what was omitted is listed as scrubbed."""

    def agent(box: FakeSandbox) -> None:
        box.write("new.py", b"y")
        box.remove("README.md")
        box.omitted = (Omission("pipe", "fifo"),)

    result = run_session(FakeEngine(agent), store, spec(), start, log=log)

    assert start.manifest.diff(result.snapshot.manifest).paths == ("README.md", "new.py")
    assert store.manifest(result.snapshot.sha256) == result.snapshot.manifest
    assert ("pipe", "fifo") in [(entry.what, entry.why) for entry in result.scrubbed]
    assert result.carried == ("/workspace",)


@pytest.mark.parametrize("operation", ["open", "load", "run", "export"])
def test_failures_of_the_machinery_are_raised_and_leave_nothing(
    store: SnapshotStore, start: Snapshot, log: SessionLog, operation: str
) -> None:
    """Whatever fails, the sandbox is closed and no half snapshot stays."""
    engine = FakeEngine(failures={operation: SandboxDied("gone")})
    with pytest.raises(SandboxDied):
        run_session(engine, store, spec(), start, log=log)

    assert engine.alive == 0
    assert [path.name for path in store.root.iterdir()] == [store.path(start.sha256).name]


def test_an_image_without_a_command_is_unfit(store: SnapshotStore, start: Snapshot, log: SessionLog) -> None:
    """Nothing to run is the image's fault, said before anything ran."""
    engine = FakeEngine()
    plain = engine.image
    engine.image = lambda ref: type(plain(ref))(ref, "sha256:0", None, "", (), (), {})  # type: ignore[method-assign]
    with pytest.raises(ImageUnfit, match="no command"):
        run_session(engine, store, spec(), start, log=log)


def test_a_log_that_cannot_be_written_is_a_storage_error(store: SnapshotStore, start: Snapshot, tmp_path: Path) -> None:
    """A full disk while the agent prints is not the agent's failure."""
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    log = SessionLog(Path("/dev/full"), tmp_path / "events.jsonl")
    engine = FakeEngine(lambda box: RunResult(how="exited", code=0, stdout=b"x"))
    with pytest.raises(StorageError):
        run_session(engine, store, spec(), start, log=log)


def live(engine: Engine, store: SnapshotStore, start: Snapshot, log: SessionLog, session: SessionSpec) -> SessionResult:
    return run_session(engine, store, session, start, log=log, labels={"takeover.trial": "t"})


@pytest.mark.docker
def test_a_session_is_cut_off_at_its_first_edit(
    engine: Engine, store: SnapshotStore, start: Snapshot, log: SessionLog
) -> None:
    """In a real container: what came before the edit stays, nothing after it happens, and the log says so."""
    script = ("echo begun", "echo notes > state.md", "sed -i s/1/2/ a.py && git commit -qam x", "echo after > b.py")
    result = live(engine, store, start, log, spec(*script, cutoff="first-edit"))
    changed = start.manifest.diff(result.snapshot.manifest)

    assert result.run.how == "cutoff"
    assert (result.run.code, result.run.signal) == (None, None)
    assert result.run.cutoff is not None
    assert result.run.cutoff.path == "a.py"
    assert "state.md" in changed.added
    assert "a.py" in changed.changed
    assert not [path for path in changed.added if path.startswith(".git/objects") or path == "b.py"]
    assert log.output.read_bytes() == b"begun\n"
    assert [event["t"] for event in events(log)] == ["edit", "exit"]


@pytest.mark.docker
def test_a_second_session_sees_the_workspace_and_nothing_else(
    engine: Engine, store: SnapshotStore, start: Snapshot, log: SessionLog
) -> None:
    """Notes hidden in HOME, /tmp, /var/tmp, /dev/shm, /run or a process are gone; git's own history stays."""
    hide = (
        "for d in ~ /tmp /var/tmp /dev/shm; do echo secret > $d/hidden-note; done",
        "git stash list; echo w > in-workspace",
    )
    first = live(engine, store, start, log, spec(*hide, "sleep 1000 & disown 2>/dev/null; echo done"))
    look = "find / -xdev -name hidden-note 2>/dev/null; find ~ /tmp /var/tmp /dev/shm /run -name hidden-note; cat in-workspace"
    second = live(engine, store, first.snapshot, log, spec(look, "ps ax 2>/dev/null | grep -c 'sleep [1]000'"))

    assert first.run.killed >= 1
    assert second.run.stdout.split() in ([b"w"], [b"w", b"0"])


@pytest.mark.docker
def test_edits_are_reported_without_a_cutoff_too(
    engine: Engine, store: SnapshotStore, start: Snapshot, log: SessionLog
) -> None:
    """The uninterrupted baseline runs to its end and still says what it edited first."""
    result = live(engine, store, start, log, spec("echo y=1 >> a.py", "echo z > b.py", "exit 3", cutoff="none"))

    assert (result.run.how, result.run.code) == ("exited", 3)
    assert result.run.first_edit == "a.py"
    assert set(result.run.edited) == {"a.py", "b.py"}
    assert result.run.cutoff is None


@pytest.mark.docker
def test_output_is_bounded_and_the_gap_is_marked(
    engine: Engine, store: SnapshotStore, start: Snapshot, log: SessionLog
) -> None:
    """Whatever an agent prints, the log keeps the beginning and the end and says what is missing."""
    limits = Limits(wall=60, output=100_000)
    result = live(engine, store, start, log, spec("echo first; yes | head -c 30000000; echo last", limits=limits))
    written = log.output.read_bytes()

    assert result.run.truncated
    assert result.run.output_bytes[1] == 30_000_000 + len("first\nlast\n")
    assert len(written) < 110_000
    assert written.startswith(b"first\n")
    assert written.endswith(b"last\n")
    assert b"bytes of output were not kept" in written


@pytest.mark.docker
def test_a_workspace_that_is_too_deep_is_not_complete(
    engine: Engine, store: SnapshotStore, start: Snapshot, log: SessionLog
) -> None:
    """What a cap leaves out is named, and the snapshot says that it is not whole."""
    result = live(
        engine, store, start, log, spec("python3 -c \"import os\nfor i in range(300): os.mkdir('d'); os.chdir('d')\"")
    )

    assert not result.snapshot.complete
    assert {entry.reason for entry in result.snapshot.omitted} == {"depth"}


@pytest.mark.docker
def test_a_command_that_is_not_there_is_the_images_fault(
    engine: Engine, store: SnapshotStore, start: Snapshot, log: SessionLog
) -> None:
    """An agent that cannot be started has not failed at the task."""
    agent = AgentSpec("test", "sandbox", ("/no/such/agent",))
    with pytest.raises(ImageUnfit, match="/no/such/agent"):
        live(engine, store, start, log, SessionSpec(agent, 1, "x", CutoffRule("none"), Limits()))
