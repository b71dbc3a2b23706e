"""Sessions whose agent talks to a model: the cutoff rules that only the gateway can keep, and what ends a session."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from fakes import FakeEngine, FakeSandbox
from modelkit import SOURCE

from takeover.sandbox.cutoff import CutoffRule, parse
from takeover.sandbox.engine import DockerEngine
from takeover.sandbox.errors import InputError
from takeover.sandbox.gateway.exchange import Gone, HttpRequest, ResponsePart
from takeover.sandbox.gateway.gateway import Gateway
from takeover.sandbox.gateway.script import Fault, Shell, Turn, Usage
from takeover.sandbox.gateway.scripted import Scripted
from takeover.sandbox.gateway.upstream import Answer, ModelUnavailable, UnknownRequest, UpstreamCall
from takeover.sandbox.limits import Limits
from takeover.sandbox.sandbox import RunResult
from takeover.sandbox.session import AgentSpec, Model, SessionLog, SessionResult, SessionSpec, run_session
from takeover.sandbox.snapshot import Snapshot
from takeover.sandbox.store import SnapshotStore
from takeover.sandbox.workspace import CommitSpec, build_repository

FILES = {"a.py": b"x = 1\n"}
HISTORY = [CommitSpec("Start", "Ada", "ada@example.com", "2026-01-05T09:00:00+00:00", FILES)]
COMMIT = "git -c user.name=a -c user.email=a@b commit -qam next"


@pytest.fixture
def start(store: SnapshotStore) -> Snapshot:
    return build_repository(FILES, HISTORY, store)


@pytest.fixture
def log(tmp_path: Path) -> SessionLog:
    return SessionLog(tmp_path / "1-session/output.log", tmp_path / "1-session/events.jsonl")


def spec(cutoff: CutoffRule, source: str = SOURCE) -> SessionSpec:
    agent = AgentSpec("http", "sandbox", ("python3", "-c", source))
    return SessionSpec(agent, 1, "Do it.", cutoff, Limits(wall=60))


def shells(*commands: str, usage: Usage | None = None, tells: bool = True) -> Scripted:
    """A model that has these commands run, one a turn."""
    return Scripted([Turn(actions=(Shell(command),), usage=usage, tells_usage=tells) for command in commands])


def write(name: str) -> str:
    return f"echo 'y = 2' > {name}.py"


def run(
    engine: DockerEngine, store: SnapshotStore, start: Snapshot, log: SessionLog, rule: CutoffRule, model: Scripted
) -> tuple[SessionResult, Gateway]:
    with Gateway(model, rule=rule) as gateway:
        result = run_session(engine, store, spec(rule), start, log=log, model=gateway)
    return result, gateway


def left(result: SessionResult) -> list[str]:
    return [path for path in result.snapshot.manifest if path.endswith(".py")]


@pytest.mark.docker
@pytest.mark.parametrize("n", [1, 3])
def test_turns(engine: DockerEngine, store: SnapshotStore, start: Snapshot, log: SessionLog, n: int) -> None:
    """The n-th turn is whole and what it called has run; no further call is made, and the agent never hears of it."""
    rule = parse(f"turns:{n}")
    result, gateway = run(engine, store, start, log, rule, shells(*map(write, "bcdef")))
    cutoff = result.run.cutoff
    assert (result.run.how, result.run.code, result.run.signal) == ("cutoff", None, None)
    assert cutoff is not None
    assert (cutoff.rule, cutoff.n, cutoff.exact, cutoff.how, cutoff.path) == ("turns", n, True, "request", None)
    assert left(result) == ["a.py", *(f"{name}.py" for name in "bcdef"[:n])]
    assert result.run.edits == n  # the guest goes on to watch
    assert gateway.report().totals.turns == n
    assert b"status" not in log.output.read_bytes()


@pytest.mark.docker
def test_tokens(engine: DockerEngine, store: SnapshotStore, start: Snapshot, log: SessionLog) -> None:
    """The call that would come after so many tokens is not made."""
    model = shells(*map(write, "bcdef"), usage=Usage(90, 10))
    result, gateway = run(engine, store, start, log, parse("tokens:250"), model)
    assert result.run.cutoff is not None
    assert result.run.cutoff.exact
    assert left(result) == ["a.py", "b.py", "c.py", "d.py"]
    assert gateway.report().tokens == 300


@pytest.mark.docker
def test_tokens_that_are_not_all_known(
    engine: DockerEngine, store: SnapshotStore, start: Snapshot, log: SessionLog
) -> None:
    """A cut by tokens is not exact where one answer said no usage."""
    model = Scripted(
        [
            Turn(actions=(Shell(write("b")),), tells_usage=False),
            Turn(actions=(Shell(write("c")),), usage=Usage(90, 10)),
            Turn(actions=(Shell(write("d")),), usage=Usage(90, 10)),
        ]
    )
    result, gateway = run(engine, store, start, log, parse("tokens:100"), model)
    cutoff = result.run.cutoff
    assert cutoff is not None
    assert (cutoff.exact, bool(cutoff.why_not)) == (False, True)
    assert left(result) == ["a.py", "b.py", "c.py"]
    assert gateway.report().tokens is None


@pytest.mark.docker
def test_turns_armed_by_a_commit(engine: DockerEngine, store: SnapshotStore, start: Snapshot, log: SessionLog) -> None:
    """The turns before the first commit do not count, and that in which it is made does not either."""
    rule = parse("turns:2", armed="first-commit")
    commands = [write("b"), write("c"), f"echo 'x = 3' > a.py && {COMMIT}", write("d"), write("e"), write("f")]
    result, _ = run(engine, store, start, log, rule, shells(*commands))
    assert result.run.armed is True
    assert result.run.cutoff is not None
    assert result.run.cutoff.exact
    assert left(result) == ["a.py", "b.py", "c.py", "d.py", "e.py"]


@pytest.mark.docker
def test_a_rule_of_the_guest_beside_a_model(
    engine: DockerEngine, store: SnapshotStore, start: Snapshot, log: SessionLog
) -> None:
    """edits:2 is the guest's as ever."""
    result, _ = run(engine, store, start, log, parse("edits:2"), shells(*map(write, "bcd")))
    assert result.run.cutoff is not None
    assert (result.run.cutoff.rule, result.run.cutoff.path) == ("edits", "c.py")
    assert left(result) == ["a.py", "b.py", "c.py"]


class Failing:
    """Answers once, then fails for good."""

    paced = False

    def __init__(self, inner: Scripted, error: BaseException) -> None:
        self._inner, self._error, self._calls = inner, error, 0

    def send(self, call: UpstreamCall) -> Answer:
        self._calls += 1
        if self._calls > 1:
            raise self._error
        return self._inner.send(call)

    def end(self) -> None: ...
    def close(self) -> None: ...


@pytest.mark.docker
@pytest.mark.parametrize(
    "error", [ModelUnavailable("gone"), UnknownRequest("not known"), ZeroDivisionError("a mistake of ours")]
)
def test_a_model_that_fails_fails_the_session(
    engine: DockerEngine, store: SnapshotStore, start: Snapshot, log: SessionLog, error: Exception
) -> None:
    """The session ends at once, not at its wall limit, and with what was wrong; a mistake of ours hangs nobody."""
    with Gateway(Failing(shells(write("b"), write("c")), error)) as gateway, pytest.raises(type(error)) as caught:
        run_session(engine, store, spec(parse("none")), start, log=log, model=gateway)
    assert caught.value is error
    for thread in threading.enumerate():
        if thread.name.startswith("gateway-"):
            thread.join(20)
            assert not thread.is_alive()


@pytest.mark.docker
def test_an_agent_that_waits_when_its_session_ends(
    engine: DockerEngine, store: SnapshotStore, start: Snapshot, log: SessionLog
) -> None:
    """An answer that never ends keeps nobody: neither the session nor a thread."""
    released = threading.Event()

    class Endless:
        def handle(self, request: HttpRequest, gone: Gone | None = None) -> Iterator[ResponsePart]:
            assert gone is not None
            yield ResponsePart(b"{", more=True, status=200)
            gone.wait(60)
            released.set()

        fired = failure = None

        def attend(self, stop: object) -> None: ...
        def arm(self) -> None: ...

    asking = """
import urllib.request
answer = urllib.request.urlopen("http://127.0.0.1:4000/v1/models")
open("/workspace/began", "w").close()
answer.read()
"""
    main = f"""
import os, subprocess, sys, time
subprocess.Popen([sys.executable, "-c", {asking!r}])
while not os.path.exists("/workspace/began"):
    time.sleep(0.02)
"""
    model: Model = Endless()
    result = run_session(engine, store, spec(parse("none"), main), start, log=log, model=model)
    assert result.run.how == "exited"
    assert released.wait(20)


@pytest.mark.docker
def test_a_command_is_stopped_from_another_thread(engine: DockerEngine) -> None:
    """`stop` ends what runs, whatever thread asks, and is nothing to a sandbox in which nothing does."""
    with engine.open("sandbox", limits=Limits(wall=60)) as sandbox:
        sandbox.stop("too early")

        def on_output(stream: int, data: bytes) -> None:
            threading.Thread(target=sandbox.stop, args=("enough",)).start()

        result = sandbox.run(["sh", "-c", "echo here; sleep 600"], wall=60, on_output=on_output)
        assert (result.how, result.stdout) == ("stopped", b"here\n")
        sandbox.stop("too late")
        assert sandbox.run(["true"], wall=60).ok


def test_no_model_no_door(store: SnapshotStore, start: Snapshot, log: SessionLog) -> None:
    """Without a model nobody answers, and a rule that needs one is refused."""
    seen: list[FakeSandbox] = []
    run_session(FakeEngine(seen.append), store, spec(parse("none")), start, log=log)
    assert seen[0].on_request is None
    with pytest.raises(InputError, match="gateway"):
        run_session(FakeEngine(), store, spec(parse("turns:2")), start, log=log)


def test_the_guest_is_told_nothing_of_rules_that_are_not_its(
    store: SnapshotStore, start: Snapshot, log: SessionLog
) -> None:
    """It gets `none`, armed as the rule is."""
    seen: list[FakeSandbox] = []
    with Gateway(shells()) as gateway:
        rule = parse("tokens:5", armed="first-commit")
        run_session(FakeEngine(seen.append), store, spec(rule), start, log=log, model=gateway)
    assert seen[0].cutoff is not None
    assert seen[0].cutoff.to_wire()["rule"] == "none"
    assert seen[0].cutoff.to_wire()["armed"] == "first-commit"


@pytest.mark.parametrize(("how", "raised"), [("exited", True), ("stopped", True), ("wall", True), ("cutoff", False)])
def test_a_failure_after_the_cut_takes_nothing_from_the_session(
    store: SnapshotStore, start: Snapshot, log: SessionLog, how: str, raised: bool
) -> None:
    """What was cut was whole already."""

    class Gone_(Gateway):
        failure = ModelUnavailable("gone")  # type: ignore[assignment]

    ends: Sequence[RunResult] = [RunResult(how=how, code=None)]  # type: ignore[arg-type]
    with Gone_(shells()) as gateway:
        engine = FakeEngine(lambda box: ends[0])
        if raised:
            with pytest.raises(ModelUnavailable):
                run_session(engine, store, spec(parse("none")), start, log=log, model=gateway)
        else:
            assert run_session(engine, store, spec(parse("none")), start, log=log, model=gateway).run.how == "cutoff"


def test_who_ends_by_himself_is_not_cut(store: SnapshotStore, start: Snapshot, log: SessionLog) -> None:
    """A rule that falls in the moment in which the agent ends anyhow leaves it the end that it chose."""
    turn = Turn(actions=(Shell("true"),), fault=Fault(status=500))
    with Gateway(Scripted([turn]), rule=parse("turns:1")) as gateway:
        result = run_session(
            FakeEngine(lambda box: RunResult(how="exited", code=0)),
            store,
            spec(parse("turns:1")),
            start,
            log=log,
            model=gateway,
        )
    assert (result.run.how, result.run.cutoff) == ("exited", None)
