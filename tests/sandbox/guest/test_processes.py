"""Processes of the agent: how they start, what they may, how they end, and what is kept of their output."""

from __future__ import annotations

import errno
import hashlib
import time
from typing import Any

import pytest
from conftest import Opener
from guest_client import ENV, Client

from takeover.sandbox.limits import Limits

pytestmark = pytest.mark.docker

OTHERS = "import os; print(len([n for n in os.listdir('/proc') if n.isdigit() and int(n) not in (1, os.getpid())]))"


def alive(guest: Client) -> int:
    """How many processes there are besides PID 1 and the one that counts."""
    return int(guest.run(["python3", "-c", OTHERS], cwd="/").out)


@pytest.mark.parametrize(("script", "code", "signal"), [("exit 0", 0, None), ("exit 255", 255, None), ("kill -9 $$", None, 9),
                                                       ("kill -SEGV $$", None, 11), ("true; false", 1, None)])  # fmt: skip
def test_how_a_process_ended(shared_guest: Client, script: str, code: int | None, signal: int | None) -> None:
    """The exit code, or the signal."""
    outcome = shared_guest.sh(script)

    assert (outcome.exit["how"], outcome.exit["code"], outcome.exit["signal"]) == ("exited", code, signal)


@pytest.mark.parametrize(
    ("argv", "fields", "number"),
    [
        (["no-such-program"], {}, errno.ENOENT), (["/no/such/program"], {}, errno.ENOENT), (["/etc/passwd"], {}, errno.EACCES),
        (["/"], {}, errno.EACCES), (["true"], {"cwd": "/no/such/folder"}, errno.ENOENT), (["true"], {"cwd": "/root"}, errno.EACCES),
        (["true"], {"env": {"A": "x" * 200_000}}, errno.E2BIG), ([], {}, None), (["a\0b"], {}, None), ("true", {}, None),
        (["true"], {"env": {"A": 1}}, None), (["true"], {"env": {"A=B": "1"}}, None), (["true"], {"rlimits": {"x": 1}}, None),
        (["true"], {"wall": 0}, None), (["true"], {"wall": "1"}, None), (["true"], {"output_limit": -1}, None),
        (["true"], {"rlimits": {"nofile": "many"}}, None),
    ],
)  # fmt: skip
def test_what_cannot_be_started(shared_guest: Client, argv: Any, fields: dict[str, Any], number: int | None) -> None:
    """A `failed` frame with the errno where the kernel said no; the guest goes on."""
    outcome = shared_guest.run(argv, **fields)

    assert outcome.failed["errno"] == number, outcome.failed
    assert outcome.failed["why"]
    assert shared_guest.ping()["t"] == "pong"


def test_what_cannot_be_started_under_a_rule(shared_guest: Client) -> None:
    """The same where the start itself must pass the barrier."""
    outcome = shared_guest.run(["no-such-program"], cutoff={"rule": "first-edit"})

    assert outcome.failed["errno"] == errno.ENOENT
    assert shared_guest.sh("true", cutoff={"rule": "first-edit"}).exit["code"] == 0


def test_rights(shared_guest: Client) -> None:
    """The agent has its own uid and no capability, may gain none, and dies first when memory runs out."""
    out = shared_guest.sh(
        "id -u; id -g; id -G; cat /proc/self/oom_score_adj; grep -E '^(Cap|NoNew)' /proc/self/status"
    ).out

    lines = out.split("\n")
    assert lines[:4] == ["1000", "1000", "1000", "1000"]
    status = dict(line.split(":\t") for line in lines[4:] if line)
    assert {status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {"0000000000000000"}
    assert status["NoNewPrivs"] == "1"


def test_surroundings(shared_guest: Client) -> None:
    """Environment, working directory, descriptors, session and signals are exactly what was asked for."""
    code = (
        "import os, signal\nprint(sorted(os.environ.items()))\nprint(os.getcwd(), os.getsid(0) == os.getpid(), os.umask(0))\n"
        "print(sorted(os.listdir('/proc/self/fd')), os.readlink('/proc/self/fd/0'))\n"
        "print([line for line in open('/proc/self/status') if line.startswith(('SigBlk', 'SigIgn'))])"
    )
    outcome = shared_guest.run(
        ["/usr/bin/python3", "-I", "-S", "-c", code], env={"A": "b=c", "EMPTY": "", "\udcff": "\udcfe"}, cwd="/tmp"
    )

    lines = outcome.out.splitlines()
    names = {name for name, _ in eval(lines[0])}
    assert names - {"LC_CTYPE"} == {"A", "EMPTY", "\udcff"}  # LC_CTYPE: Python's own, in a C locale
    assert lines[1] == "/tmp True 18"
    assert lines[2] == "['0', '1', '2', '3'] /dev/null"  # 3 lists the folder itself
    assert "SigBlk:\\t0000000000000000" in lines[3]
    ignored = int(lines[3].split("SigIgn:\\t")[1][:16], 16)
    assert ignored & ~(1 << 12 | 1 << 24) == 0  # SIGPIPE and SIGXFSZ: Python ignores them itself


def test_limits(shared_guest: Client) -> None:
    """The limits of the frame hold, and core files are never written."""
    outcome = shared_guest.sh(
        "ulimit -n; ulimit -f; ulimit -c; ulimit -Hn", rlimits={"nofile": [100, 200], "fsize": 1024}
    )

    assert outcome.out.split() == ["100", "2", "0", "200"]


def test_files_are_no_larger_than_allowed(shared_guest: Client) -> None:
    """A write beyond the limit of file size fails."""
    outcome = shared_guest.sh(
        "head -c 5000 /dev/zero > /tmp/big; stat -c %s /tmp/big; rm /tmp/big", rlimits={"fsize": 4096}
    )

    assert outcome.out.split() == ["4096"]


def test_survivors_die(shared_guest: Client) -> None:
    """Processes that outlive the main one are killed and counted, however they hid; so none is left for the next step."""
    outcome = shared_guest.sh(
        "sleep 300 & setsid sleep 300 & (setsid sh -c 'trap \"\" TERM HUP; sleep 300' &) ; nohup sleep 300 & sleep 0.2"
    )

    assert outcome.exit["how"] == "exited"
    assert outcome.exit["killed"] == 5
    assert alive(shared_guest) == 0


def test_a_daemon_that_keeps_forking_dies(shared_guest: Client) -> None:
    """A process that is never the same process twice does not get away."""
    code = (
        "import os, time\nif os.fork():\n    time.sleep(0.3)\n    os._exit(0)\nos.setsid()\n"
        "while True:\n    if os.fork():\n        os._exit(0)"
    )
    outcome = shared_guest.run(["python3", "-c", code])

    assert outcome.exit["how"] == "exited"
    assert alive(shared_guest) == 0


def test_wall_time(shared_guest: Client) -> None:
    """A busy loop, with a child in the background, ends at its time and leaves nothing that uses the processor."""
    began = time.monotonic()
    outcome = shared_guest.sh("sleep 300 & python3 -c 'while 1: pass'", wall=0.7)

    assert outcome.exit["how"] == "wall"
    assert outcome.exit["signal"] == 9
    assert 0.7 <= outcome.exit["seconds"] < 5
    assert time.monotonic() - began < 10
    assert alive(shared_guest) == 0


def test_stop(shared_guest: Client) -> None:
    """The host can end a run; a stop that comes too late is no error."""
    number, _ = shared_guest.start(["sh", "-c", "sleep 300 & sleep 300"])
    shared_guest.send("stop", id=number, why="test")
    outcome = shared_guest.finish(number)
    shared_guest.send("stop", id=number, why="again")

    assert outcome.exit["how"] == "stopped"
    assert alive(shared_guest) == 0


def test_stop_under_a_rule(shared_guest: Client) -> None:
    """A file that only the kill closed is nobody's edit; it is in the report all the same."""
    number, _ = shared_guest.start(
        ["sh", "-c", "exec 3> half.py; echo x >&3; sleep 300"], cutoff={"rule": "first-edit"}
    )
    time.sleep(0.3)
    shared_guest.send("stop", id=number, why="test")
    outcome = shared_guest.finish(number)
    shared_guest.sh("rm half.py")

    assert outcome.exit["how"] == "stopped"
    assert (outcome.exit["cutoff"], outcome.exit["edits"], outcome.exit["edited"]) == (None, 0, ["half.py"])


def test_stop_before_the_program_has_begun(shared_guest: Client) -> None:
    """A run can be stopped in any instant, also while its start waits at the barrier."""
    for _ in range(20):
        number = shared_guest.next_id()
        shared_guest.send("run", id=number, argv=["sleep", "300"], env=ENV, wall=30.0, cutoff={"rule": "first-edit"})
        shared_guest.send("stop", id=number, why="test")
        while (frame := shared_guest.take()[0])["t"] != "exit":
            assert frame["t"] == "started"
        assert frame["how"] == "stopped"


def test_output_is_kept_apart_and_whole(shared_guest: Client) -> None:
    """Two streams, any bytes, and characters that no read cuts in two."""
    outcome = shared_guest.run(
        [
            "python3",
            "-c",
            "import os\nos.write(1, b'\\xff\\xfe\\x00')\nos.write(2, b'err')\nos.write(1, '€'.encode() * 200_000)",
        ]
    )

    assert bytes(outcome.streams[1]) == b"\xff\xfe\x00" + "€".encode() * 200_000
    assert bytes(outcome.streams[2]) == b"err"
    assert outcome.exit["output_bytes"] == {"1": 600_003, "2": 3}
    assert not outcome.exit["truncated"]


def test_endless_output_takes_bounded_memory(shared_guest: Client) -> None:
    """A gigabyte of output: the head and the tail are kept, the rest is counted, PID 1 does not grow."""
    before = _memory(shared_guest)
    outcome = shared_guest.sh("echo begin; yes | head -c 1G; echo; echo end", output_limit=1 << 20, wall=60)

    assert outcome.exit["code"] == 0
    assert outcome.exit["truncated"]
    assert outcome.exit["output_bytes"]["1"] == (1 << 30) + 11
    kept = bytes(outcome.streams[1])
    assert len(kept) == 1 << 20
    assert kept.startswith(b"begin\ny\n")
    assert kept.endswith(b"y\n\nend\n")
    gaps = [event["gap"] for event in outcome.events if "gap" in event]
    assert gaps == [(1 << 30) + 11 - (1 << 20)]
    assert _memory(shared_guest) < before + 8192


def _memory(guest: Client) -> int:
    """What PID 1 holds, in KiB."""
    return int(guest.sh("grep VmRSS /proc/1/status").out.split()[1])


def test_output_without_a_limit_for_the_wire(shared_guest: Client) -> None:
    """A large output arrives whole, in order, when it is within its limit."""
    outcome = shared_guest.sh("head -c 20M /dev/zero | tr '\\0' x; printf end", output_limit=32 << 20)

    assert len(outcome.streams[1]) == (20 << 20) + 3
    assert outcome.out.endswith("xend")
    assert not outcome.exit["truncated"]


def test_no_output_is_kept_when_none_is_wanted(shared_guest: Client) -> None:
    """A limit of zero counts and keeps nothing."""
    outcome = shared_guest.sh("echo 12345", output_limit=0)

    assert (outcome.out, outcome.exit["truncated"], outcome.exit["output_bytes"]["1"]) == ("", True, 6)


def test_a_process_may_close_its_output(shared_guest: Client) -> None:
    """Closing stdout early, or passing it on to a daemon, is no end."""
    assert shared_guest.sh("exec >&- 2>&-; sleep 0.2; exit 5").exit["code"] == 5
    assert shared_guest.sh("(sleep 300 &) ; echo out").out == "out\n"


def test_input(shared_guest: Client) -> None:
    """A run with stdin gets every byte, then the end of file."""
    number, _ = shared_guest.start(["sha256sum"], stdin=True)
    data = bytes(range(256)) * 20_000
    for start in range(0, len(data), 1 << 19):
        shared_guest.send("input", data[start : start + (1 << 19)], id=number, eof=False)
    shared_guest.send("input", id=number, eof=True)

    assert shared_guest.finish(number).out.split()[0] == hashlib.sha256(data).hexdigest()


def test_conversation(shared_guest: Client) -> None:
    """Answers of a process that is asked come at once, and it keeps the head of what it says."""
    number, outcome = shared_guest.start(["cat"], stdin=True, output_limit=20)
    for word in (b"one\n", b"two\n", b"three\n"):
        shared_guest.send("input", word, id=number)
        shared_guest.take_until(number, "output")
    shared_guest.send("input", b"more than is kept\n", id=number, eof=True)
    shared_guest.finish(number)

    assert outcome.out == "one\ntwo\nthree\nmore t"
    assert outcome.exit["truncated"]


def test_input_that_nobody_reads(shared_guest: Client) -> None:
    """Input is queued up to 16 MiB; beyond that the run is told off and the guest stays small and responsive."""
    number, _ = shared_guest.start(["sleep", "300"], stdin=True)
    for _ in range(40):
        shared_guest.send("input", bytes(1 << 19), id=number)
    failed = shared_guest.take_until(number, "failed")[0]

    assert "not read" in failed["why"]
    assert shared_guest.ping()["t"] == "pong"
    shared_guest.send("stop", id=number, why="test")
    shared_guest.take_until(number, "exit")
    shared_guest._live.clear()


def test_a_reader_that_goes_away(shared_guest: Client) -> None:
    """Input for a process that closed its stdin or ended is dropped; SIGPIPE hurts nobody."""
    number, _ = shared_guest.start(["sh", "-c", "exec <&-; sleep 0.3; echo done"], stdin=True)
    for _ in range(20):
        shared_guest.send("input", bytes(1 << 18), id=number)

    assert shared_guest.finish(number).out == "done\n"
    shared_guest.send("input", b"late", id=number)
    assert shared_guest.ping()["t"] == "pong"


def test_several_at_once(shared_guest: Client) -> None:
    """Runs without a cutoff live side by side; the end of one leaves the others alone."""
    first, a = shared_guest.start(["cat"], stdin=True)
    second, b = shared_guest.start(["sh", "-c", "sleep 300 & read x; echo got $x"], stdin=True)
    refused = shared_guest.run(["true"], cutoff={"rule": "first-edit"})
    shared_guest.send("input", b"word\n", id=second, eof=True)
    shared_guest.finish(second)
    shared_guest.send("input", b"still here", id=first, eof=True)
    shared_guest.finish(first)

    assert "only one" in refused.failed["why"]
    assert (a.out, b.out) == ("still here", "got word\n")
    assert alive(shared_guest) == 0


def test_nothing_beside_a_cutoff(shared_guest: Client) -> None:
    """While a run with a cutoff lives, no other may begin."""
    number, _ = shared_guest.start(["sleep", "300"], cutoff={"rule": "first-edit"})
    refused = shared_guest.run(["true"])
    again = shared_guest.next_id()
    shared_guest.send("run", id=number, argv=["true"])
    in_use = shared_guest.take_until(number, "failed")[0]
    shared_guest.send("stop", id=number, why="test")
    shared_guest.take_until(number, "exit")
    shared_guest._live.clear()

    assert "only one" in refused.failed["why"]
    assert "in use" in in_use["why"]
    assert again > number


def test_orphans_are_gathered(shared_guest: Client) -> None:
    """PID 1 gathers the dead of others, so that they do not use up the limit of processes."""
    outcome = shared_guest.sh(
        "for n in $(seq 200); do (sh -c 'true &' ) ; done; sleep 0.3; grep -c '^State:.Z' /proc/[0-9]*/status | grep -c ':1$'"
    )

    assert outcome.out.strip() == "0"


def test_a_fork_bomb_ends_with_its_session(open_guest: Opener) -> None:
    """The limit of processes holds, PID 1 stays responsive, and not one of them is left."""
    with open_guest(limits=Limits(pids=100)) as (guest, _):
        guest.hello()
        number, _ = guest.start(
            ["python3", "-c", "import os\nwhile True:\n try: os.fork()\n except OSError: pass"], wall=20
        )
        assert guest.ping()["t"] == "pong"
        time.sleep(1)
        assert guest.ping()["t"] == "pong"
        guest.send("stop", id=number, why="test")
        outcome = guest.finish(number)

        assert outcome.exit["how"] == "stopped"
        assert outcome.exit["killed"] > 50
        assert alive(guest) == 0


def test_a_fork_bomb_under_a_rule(open_guest: Opener) -> None:
    """Even with no process to be had, the first edit ends the session."""
    with open_guest(limits=Limits(pids=60)) as (guest, _):
        guest.hello()
        code = (
            "import os, time\npids = []\nwhile True:\n    try:\n        p = os.fork()\n    except OSError:\n        break\n"
            "    if p == 0:\n        time.sleep(300)\n"
            "open('a.py', 'w').write('x')\nopen('b.py', 'w').write('x')"
        )
        outcome = guest.run(["python3", "-c", code], cutoff={"rule": "first-edit"})

        assert outcome.cut["path"] == "a.py"
        assert outcome.cut["exact"]
        assert outcome.exit["edited"] == ["a.py"]


def test_out_of_memory_is_said(open_guest: Opener) -> None:
    """An agent that takes more memory than there is dies alone, and its exit says why."""
    with open_guest(limits=Limits(memory=128 << 20, workspace=32 << 20, home=32 << 20, tmp=32 << 20)) as (guest, _):
        guest.hello()
        outcome = guest.sh("python3 -c 'x = bytearray(400 << 20); print(len(x))'; echo $?")
        fine = guest.sh("true")

        assert outcome.out == "137\n"
        assert outcome.exit["oom"]
        assert outcome.exit["oom_kills"] >= 1
        assert (fine.exit["oom"], fine.exit["oom_kills"]) == (False, 0)
        assert guest.ping()["t"] == "pong"


def test_a_full_disk_is_the_agents_affair(open_guest: Opener) -> None:
    """A workspace written full fails the agent's writes and nothing else."""
    with open_guest(limits=Limits(workspace=4 << 20)) as (guest, _):
        guest.hello()
        outcome = guest.sh(
            "head -c 8M /dev/zero > big.py; echo $?; rm -f big.py; echo x > a.py", cutoff={"rule": "none"}
        )

        assert outcome.out == "1\n"
        assert outcome.exit["edited"] == ["a.py"]


def test_the_agent_sees_its_clock(shared_guest: Client) -> None:
    """Seconds are measured by PID 1's own clock."""
    outcome = shared_guest.sh("sleep 0.3")

    assert 0.3 <= outcome.exit["seconds"] < 3
