"""The wire from the guest's side: greetings, refusals, broken hosts, and the end of everything."""

from __future__ import annotations

import contextlib
import struct
import time

import pytest
from conftest import Opener
from guest_client import Client

from takeover.sandbox.engine import DockerEngine
from takeover.sandbox.guest import boot
from takeover.sandbox.wire import WireClosed

pytestmark = pytest.mark.docker


def gone(engine: DockerEngine, number: str, seconds: float = 5.0) -> bool:
    """Whether the engine has removed a container within this time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not engine._client.containers(all=True, filters={"id": number}):
            return True
        time.sleep(0.05)
    return False


def test_ready(guest: Client) -> None:
    """The guest says what it is and what it can."""
    ready = guest.ready

    assert (ready["t"], ready["v"], ready["uid"], ready["gid"]) == ("ready", 1, 1000, 1000)
    assert ready["barrier"], ready["barrier_reason"]
    assert ready["dns"]
    assert int(ready["pid1_caps"], 16) == sum(1 << bit for bit in (0, 1, 3, 5, 6, 7))
    assert ready["home_complete"]
    assert ready["clock"] > 0


@pytest.mark.parametrize(("user", "ids"), [("0", (1000, 1000)), ("4242:77", (4242, 77)), ("nobody", (65534, 65534))])
def test_users(open_guest: Opener, user: str, ids: tuple[int, int]) -> None:
    """The image's user, or 1000 for root; workspace and HOME are its own, with nobody else's rights."""
    with open_guest() as (client, _):
        ready = client.hello(user=user)
        out = client.sh(
            "id -u; id -g; stat -c '%u:%g %a' /workspace /takeover-home; touch /workspace/a ~/a && echo ok"
        ).out

    assert (ready["uid"], ready["gid"]) == ids
    assert out.split("\n")[:2] == [str(ids[0]), str(ids[1])]
    assert out.split("\n")[2:4] == [f"{ids[0]}:{ids[1]} 755"] * 2
    assert out.split("\n")[4] == "ok"


@pytest.mark.parametrize(
    ("fields", "why"), [({"user": "ghost"}, "no user"), ({"v": 2}, "version"), ({"home": "/no/such"}, "/no/such")]
)
def test_unfit(open_guest: Opener, fields: dict[str, object], why: str) -> None:
    """What the guest cannot live with is said, and ends it."""
    with open_guest() as (client, _):
        answer = client.hello(**fields)

        assert answer["t"] == "unfit"
        assert why in answer["why"]
        with pytest.raises(WireClosed):
            client.take()


def test_hello_comes_first(open_guest: Opener) -> None:
    """Before hello every request is refused."""
    with open_guest() as (client, _):
        client.wire.send_bytes(boot.preamble(), deadline=time.monotonic() + 10)
        for kind in ("run", "load", "export", "input", "stop"):
            client.send(kind, id=1, root="workspace")
            failed = client.take()[0]
            assert (failed["t"], failed["id"], failed["why"]) == ("failed", 1, "hello comes first")


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        ({"t": "dance", "id": 1}, "no frame of type"), ({"t": "dance"}, "no frame of type"), ({"t": "ping"}, "no number"),
        ({"t": "run", "id": "1"}, "no number"), ({"t": "load", "id": 1, "root": "/etc"}, "no such root"),
        ({"t": "tree", "id": 99, "items": []}, "without a load"), ({"t": "export", "id": 1}, "max_files"),
        ({"t": "export", "id": 1, "max_files": 1, "max_bytes": -1, "max_depth": 1, "max_path": 1}, "max_files"),
    ],
)  # fmt: skip
def test_refusals(shared_guest: Client, frame: dict[str, object], why: str) -> None:
    """A request that makes no sense is refused by name, and the guest goes on."""
    kind = str(frame.pop("t"))
    shared_guest.send(kind, **frame)
    failed = shared_guest.take()[0]
    frame["t"] = kind

    assert failed["t"] == "failed"
    assert why in failed["why"]
    assert shared_guest.ping()["t"] == "pong"


@pytest.mark.parametrize(
    "garbage", [b"GET / HTTP/1.1\r\n\r\n", struct.pack(">II", 1 << 21, 0), struct.pack(">II", 2, 0) + b"[]"]
)
def test_what_is_not_the_protocol_ends_the_guest(open_guest: Opener, engine: DockerEngine, garbage: bytes) -> None:
    """A broken host is answered with the reason, and nothing lives on."""
    with open_guest() as (client, number):
        client.hello()
        client.start(["sleep", "300"])
        client.wire.send_bytes(garbage, deadline=time.monotonic() + 10)
        crash = client.take()[0]

        assert crash["t"] == "crash"
        assert "FrameError" in crash["why"]
        assert gone(engine, number)


def test_bye(open_guest: Opener, engine: DockerEngine) -> None:
    """After bye there is nobody, whatever was running."""
    with open_guest() as (client, number):
        client.hello()
        client.start(["sh", "-c", "trap '' TERM; sleep 300 & sleep 300"])
        client.send("bye")

        assert gone(engine, number)


def test_a_sandbox_lives_as_long_as_its_wire(open_guest: Opener, engine: DockerEngine) -> None:
    """When the host's end closes without a word, the container is gone at once: nothing is left to be swept."""
    with open_guest() as (client, number):
        client.hello()
        client.start(["sh", "-c", "trap '' TERM HUP; sleep 300 & yes"], output_limit=1 << 30)
        client.wire.close()

        assert gone(engine, number)


def test_the_wire_may_end_during_a_load(open_guest: Opener, engine: DockerEngine) -> None:
    """In the middle of a frame too."""
    with open_guest() as (client, number):
        client.hello()
        client.send("load", id=1, root="workspace")
        client.wire.send_bytes(struct.pack(">II", 1000, 1 << 20) + b'{"t":"tree"', deadline=time.monotonic() + 10)
        client.wire.close()

        assert gone(engine, number)


def test_the_wire_may_end_before_the_guest_is_there(open_guest: Opener, engine: DockerEngine) -> None:
    """Even before the first byte of it."""
    with open_guest() as (client, number):
        client.wire.close()

        assert gone(engine, number)


def test_signals_from_outside_do_not_end_it(guest: Client, open_guest: Opener, engine: DockerEngine) -> None:
    """PID 1 lives through every signal but SIGKILL and SIGSTOP."""
    with open_guest() as (client, number):
        client.hello()
        for name in (
            "SIGTERM",
            "SIGINT",
            "SIGHUP",
            "SIGQUIT",
            "SIGUSR1",
            "SIGUSR2",
            "SIGALRM",
            "SIGPIPE",
            "SIGCHLD",
            "SIGTSTP",
        ):
            engine._client.kill(number, name)

        assert client.ping()["t"] == "pong"
        assert client.sh("echo fine").out == "fine\n"


def test_a_slow_host_loses_nothing(guest: Client) -> None:
    """A host that does not read for a while gets everything later; the agent waits meanwhile, and PID 1 stays small."""
    number, outcome = guest.start(["sh", "-c", "head -c 30M /dev/zero; echo; echo end >&2"], output_limit=64 << 20)
    time.sleep(1)
    guest.finish(number)

    assert len(outcome.streams[1]) == (30 << 20) + 1
    assert outcome.err == "end\n"
    assert outcome.exit["seconds"] >= 1


def test_requests_come_in_a_row(guest: Client) -> None:
    """Requests that were sent together are answered in order."""
    for number in (901, 902, 903):
        guest.send("ping", id=number)
    guest.send("load", id=904, root="workspace")
    guest.send("tree", b"x", id=904, items=[["a.txt", "f", 0o644, 1, 0, 1]], last=True)
    guest.send("run", id=905, argv=["cat", "a.txt"])

    answers = []
    while not answers or answers[-1]["t"] != "exit":
        answers.append(guest.take()[0])
    assert [(answer["t"], answer["id"]) for answer in answers] == [
        ("pong", 901), ("pong", 902), ("pong", 903), ("loaded", 904), ("started", 905), ("output", 905), ("exit", 905)
    ]  # fmt: skip


def test_an_image_without_python_does_not_start(open_guest: Opener) -> None:
    """The engine itself says that there is no python3: the host makes that into a sentence."""
    pytest.importorskip("docker")
    from docker.errors import APIError

    from takeover.sandbox import container

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(container, "COMMAND", ("/no/such/python3", "-c"))
        with pytest.raises(APIError, match="no such file"), open_guest():
            pass


def test_an_incomplete_python_is_unfit(open_guest: Opener, engine: DockerEngine) -> None:
    """Status 97 and one line on standard error."""
    with open_guest(auto_remove=False) as (client, number), contextlib.suppress(WireClosed):
        broken = boot.preamble()[:8] + b"not a zip".ljust(len(boot.preamble()) - 8)
        client.wire.send_bytes(broken, deadline=time.monotonic() + 10)
        with pytest.raises(WireClosed):
            client.take()

        assert engine._client.wait(number)["StatusCode"] == boot.UNFIT_STATUS
        assert client.wire.stderr.startswith("takeover: the image's python3 is incomplete")


def test_a_gateway_must_be_asked_for(open_guest: Opener) -> None:
    """A run gets one only where hello said so; responses that nobody waits for are dropped."""
    with open_guest() as (client, _):
        assert client.hello()["gateway"] is False
        assert "gateway" in client.sh("true", gateway=True).failed["why"]
        client.send("response", b"x", id=7, status=200, headers=[], more=False)
        assert client.ping()["t"] == "pong"
    with open_guest() as (client, _):
        assert client.hello(gateway=True)["gateway"] is True
        client.send("response-body", b"x", id=7, more=False)
        assert client.sh("true", gateway=True).exit["code"] == 0
