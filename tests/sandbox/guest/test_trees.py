"""Workspaces in and out of a real container: whatever a file system can hold, and no more than was asked for."""

from __future__ import annotations

import os
import time
from typing import Any

import pytest
from conftest import Opener
from guest_client import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import Content, trees

from takeover.sandbox.limits import Limits
from takeover.sandbox.tree import canonical_key

pytestmark = pytest.mark.docker


@pytest.fixture
def empty(shared_guest: Client) -> Client:
    """A guest with an empty workspace."""
    clear(shared_guest)
    return shared_guest


def clear(guest: Client) -> None:
    done = guest.run(
        ["sh", "-c", "chmod -R u+rwx . 2>/dev/null; find . -mindepth 1 -maxdepth 1 -exec rm -rf {} +"], cwd="/workspace"
    )
    assert done.exit["code"] == 0, done.err


def frames(tree: list[Content], piece: int = 1 << 18) -> list[tuple[list[Any], bytes]]:
    """A tree as load frames, files cut into pieces, each item in a frame of its own."""
    out: list[tuple[list[Any], bytes]] = []
    for item, data in tree:
        data = os.fsencode(item.target) if item.target is not None else data
        size = len(data)
        step = piece if item.kind == "f" else max(1, size)
        for offset in range(0, size or 1, step):
            part = data[offset : offset + step]
            out.append(([[item.path, item.kind, item.mode, size, offset, len(part)]], part))
    return out or [([], b"")]


def expected(tree: list[Content]) -> dict[str, tuple[Any, ...]]:
    return {
        item.path: (item.kind, item.mode, bytearray(os.fsencode(item.target) if item.target is not None else data))
        for item, data in tree
    }


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(tree=trees(), piece=st.sampled_from([1000, 65536, 1 << 18]))
def test_any_tree_comes_out_as_it_went_in(shared_guest: Client, tree: list[Content], piece: int) -> None:
    """Names of any bytes, modes down to 000, links to anywhere, files in any number of pieces; in canonical order."""
    clear(shared_guest)

    answer = shared_guest.load_frames(frames(tree, piece))
    assert answer["t"] == "loaded", answer
    got, closing = shared_guest.export()

    assert got == expected(tree)
    assert shared_guest.order == sorted(got, key=canonical_key)
    assert (closing["complete"], closing["omitted"]) == (True, [])


def test_a_loaded_tree_belongs_to_the_agent(empty: Client) -> None:
    """Files, directories and links are its own, with the modes that were sent."""
    empty.load_frames(
        [([["d", "d", 0o700, 0, 0, 0], ["d/f", "f", 0o640, 1, 0, 1], ["d/l", "l", 0o777, 1, 0, 1]], b"xy")]
    )

    assert empty.sh("stat -c '%n %u:%g %a' d d/f; stat -c '%u:%g' d/l; readlink d/l").out.split("\n")[:4] == [
        "d 1000:1000 700", "d/f 1000:1000 640", "1000:1000", "y"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("items", "body", "why"),
    [
        ([["/etc/x", "f", 0o644, 1, 0, 1]], b"x", "not a path"), ([["../x", "f", 0o644, 1, 0, 1]], b"x", "not a path"),
        ([["a/../../x", "f", 0o644, 1, 0, 1]], b"x", "not a path"), ([["", "f", 0o644, 1, 0, 1]], b"x", "not a path"),
        ([["a//b", "f", 0o644, 1, 0, 1]], b"x", "not a path"), ([["a\0b", "f", 0o644, 1, 0, 1]], b"x", "not a path"),
        ([["a", "b", 0o644, 1, 0, 1]], b"x", "not a tree item"), ([["a", "f", 0o4755, 1, 0, 1]], b"x", "not a tree item"),
        ([["a", "f", -1, 1, 0, 1]], b"x", "not a tree item"), ([["a", "f", 0o644, 1, 0]], b"x", "not a tree item"),
        ([["a", "f", 0o644, True, 0, 1]], b"x", "not a tree item"), (["a"], b"", "not a tree item"),
        ([["b", "f", 0o644, 0, 0, 0], ["a", "f", 0o644, 0, 0, 0]], b"", "out of order"),
        ([["a", "f", 0o644, 0, 0, 0], ["a", "f", 0o644, 0, 0, 0]], b"", "out of order"),
        ([["a", "f", 0o644, 9, 0, 1]], b"x", "incomplete"), ([["a", "f", 0o644, 9, 5, 1]], b"x", "continues"),
        ([["a", "f", 0o644, 1, 0, 2]], b"xx", "longer"), ([["a", "f", 0o644, 2, 0, 2]], b"x", "shorter"),
        ([["a", "f", 0o644, 1, 0, 1]], b"xx", "longer"), ([["a", "l", 0o777, 1, 1, 1]], b"x", "only files continue"),
        ([["a", "f", 0o644, 0, 0, 0], ["a/b", "f", 0o644, 0, 0, 0]], b"", "'a/b'"),
        ([["n" * 256, "f", 0o644, 0, 0, 0]], b"", "File name too long"), ([["\udc41", "f", 0o644, 0, 0, 0]], b"", "path"),
    ],
)  # fmt: skip
def test_loads_that_are_refused(empty: Client, items: list[Any], body: bytes, why: str) -> None:
    """A tree that leads out, lies about itself or is out of order fails as a whole, and the guest goes on."""
    failed = empty.load_frames([(items, body)])

    assert failed["t"] == "failed"
    assert why in failed["why"]
    assert empty.load({"fine.txt": b"x"})["t"] == "loaded"


def test_the_rest_of_a_failed_load_is_dropped(empty: Client) -> None:
    """One answer to one load, however many frames were under way."""
    failed = empty.load_frames(
        [([["../x", "f", 0o644, 0, 0, 0]], b"")] + [([[f"f{n}", "f", 0o644, 0, 0, 0]], b"") for n in range(5)]
    )

    assert failed["t"] == "failed"
    assert empty.ping()["t"] == "pong"
    assert empty.export()[0] == {}


def test_loads_replace(empty: Client) -> None:
    """A second load goes over the first; a file does not become a directory by it."""
    empty.load({"a.txt": b"one", "d/": b"", "d/x": b"1"})

    assert empty.load({"a.txt": b"two"})["t"] == "loaded"
    assert empty.load({"d": b"file"})["t"] == "failed"
    assert bytes(empty.export()[0]["a.txt"][2]) == b"two"


def test_no_load_while_the_agent_works(empty: Client) -> None:
    """Nobody writes into a workspace beside the agent."""
    number, _ = empty.start(["sleep", "300"])
    failed = empty.load({"a.txt": b"x"})
    prompt = empty.load({"p.md": b"x"}, root="run")
    empty.send("stop", id=number, why="test")
    empty.finish(number)

    assert (failed["t"], failed["why"]) == ("failed", "the agent is at work")
    assert prompt["t"] == "loaded"


def test_a_full_tmpfs_fails_the_load(open_guest: Opener) -> None:
    """With the errno, and without harm to the guest."""
    with open_guest(limits=Limits(workspace=1 << 19)) as (guest, _):
        guest.hello()
        failed = guest.load({f"f{n}": bytes(1 << 18) for n in range(3)})

        assert (failed["t"], failed["errno"]) == ("failed", 28)
        assert guest.ping()["t"] == "pong"


def test_fifty_megabytes(empty: Client) -> None:
    """A large file and the guest's memory: the one passes, the other does not grow."""
    data = os.urandom(1 << 20) * 50
    before = int(empty.sh("grep VmRSS /proc/1/status").out.split()[1])
    pieces = [
        ([["big", "f", 0o644, len(data), at, 1 << 19]], data[at : at + (1 << 19)])
        for at in range(0, len(data), 1 << 19)
    ]
    assert empty.load_frames(pieces)["bytes"] == len(data)
    got, _ = empty.export()

    assert bytes(got["big"][2]) == data
    assert int(empty.sh("grep VmRSS /proc/1/status").out.split()[1]) < before + 16384


def test_export_ends_the_agent_first(empty: Client) -> None:
    """A daemon that rewrites a file all the time does not get into the snapshot half-way: it is dead before."""
    number, outcome = empty.start(
        ["sh", "-c", "(setsid sh -c 'while :; do echo 1 > a; echo 22 > a; done' &); sleep 300"]
    )
    time.sleep(0.3)
    got, closing = empty.export()

    assert outcome.exit["how"] == "stopped"
    assert closing["complete"]
    assert set(got) == {"a"}
    assert empty.export()[0] == got
    empty._live.pop(number, None)


def test_special_files_are_left_out(empty: Client) -> None:
    """FIFOs and sockets are named, never opened; links are carried as text, wherever they lead."""
    code = "import os, socket\nos.mkfifo('state.md')\nos.mkfifo('a.py')\nsocket.socket(socket.AF_UNIX).bind('sock')"
    empty.run(
        [
            "python3",
            "-c",
            code + "\nos.symlink('/dev/zero', 'zero')\nos.symlink('/etc/shadow', 'x')\nos.symlink('.', 'me')",
        ]
    )
    got, closing = empty.export()

    assert closing["omitted"] == [["a.py", "fifo"], ["sock", "socket"], ["state.md", "fifo"]]
    assert closing["complete"]
    assert {path: bytes(entry[2]) for path, entry in got.items()} == {
        "me": b".",
        "x": b"/etc/shadow",
        "zero": b"/dev/zero",
    }


def test_locked_files_are_read(empty: Client) -> None:
    """Files and directories of mode 000 are in the snapshot, with their modes."""
    empty.sh("mkdir d; echo x > d/f; chmod 000 d/f d")
    got, closing = empty.export()

    assert closing["complete"]
    assert got == {"d": ("d", 0, bytearray()), "d/f": ("f", 0, bytearray(b"x\n"))}


def test_sparse_files(empty: Client) -> None:
    """A sparse file within the cap comes as zeros; one of three terabytes is left out in no time."""
    empty.sh("truncate -s 1M small; truncate -s 3T huge 2>/dev/null || truncate -s 200M huge; echo x > z", rlimits={})
    began = time.monotonic()
    got, closing = empty.export(max_bytes=10 << 20)

    assert closing["omitted"] == [["huge", "bytes"]]
    assert not closing["complete"]
    assert bytes(got["small"][2]) == bytes(1 << 20)
    assert "z" in got
    assert time.monotonic() - began < 5


def test_a_deep_tree(empty: Client) -> None:
    """Fifteen hundred levels go out and in again, whole; a cap on depth is said."""
    code = "import os\nfor n in range(1500):\n    os.mkdir('dd'); os.chdir('dd')\nopen('bottom', 'w').write('x')"
    empty.run(["python3", "-c", code])
    got, closing = empty.export(max_depth=2000, max_path=1 << 20)
    assert closing["complete"]
    assert len(got) == 1501
    bottom = "dd/" * 1500 + "bottom"
    assert bytes(got[bottom][2]) == b"x"

    shallow, closing = empty.export(max_depth=10)
    assert len(shallow) == 10
    assert closing["omitted"] == [["/".join(["dd"] * 10), "depth"]]
    assert not closing["complete"]

    clear(empty)
    items = [["/".join(["dd"] * n), "d", 0o755, 0, 0, 0] for n in range(1, 1501)]
    loads = [([item], b"") for item in items] + [([[bottom, "f", 0o644, 1, 0, 1]], b"x")]
    assert empty.load_frames(loads)["t"] == "loaded"
    again, _ = empty.export(max_path=1 << 20)
    assert again == got


def test_a_deep_tree_under_a_rule(empty: Client) -> None:
    """The watch goes as deep as the tree does."""
    code = "import os\nfor n in range(300):\n    os.mkdir('dd'); os.chdir('dd')\nopen('a.py', 'w').write('x')\nopen('b.py', 'w')"
    outcome = empty.run(["python3", "-c", code], cutoff={"rule": "first-edit"})

    assert outcome.cut["path"] == "dd/" * 300 + "a.py"
    assert outcome.cut["exact"]
    assert outcome.exit["blind"] is None


def test_the_watch_says_where_it_does_not_see(empty: Client) -> None:
    """Beyond its limits of depth and number an edit goes unseen, and the report says that there may be such."""
    code = "import os\nfor n in range(600):\n    os.mkdir('dd'); os.chdir('dd')\nopen('a.py', 'w').write('x')"
    outcome = empty.run(["python3", "-c", code], cutoff={"rule": "first-edit"})

    assert outcome.exit["how"] == "exited"
    assert "levels" in outcome.exit["blind"]


def test_long_paths_are_left_out(empty: Client) -> None:
    """A path beyond the cap is named and left out, and the rest is there."""
    empty.sh("mkdir -p short; echo x > short/a; mkdir -p " + "/".join(["n" * 200] * 5))
    got, closing = empty.export(max_path=500)

    assert "short/a" in got
    assert [reason for _, reason in closing["omitted"]] == ["path"]
    assert not closing["complete"]


MANY = (
    "import os\nfor d in range(4):\n    os.mkdir(str(d)); f = os.open(str(d), 0)\n"
    "    for n in range(30000): os.close(os.open('f%d' % n, os.O_CREAT | os.O_WRONLY, dir_fd=f))"
)


def test_very_many_files(open_guest: Opener) -> None:
    """The cap on files ends the walk: of what lies beyond it, only folders on the way are looked into."""
    with open_guest(limits=Limits(inodes=0, workspace=1 << 30, memory=4 << 30)) as (guest, _):
        guest.hello()
        guest.run(["python3", "-c", MANY], wall=120)
        began = time.monotonic()
        got, closing = guest.export(max_files=10_000)

        assert len(got) == 10_000
        assert not closing["complete"]
        assert ["0", "files"] in closing["omitted"]
        assert time.monotonic() - began < 10


def test_what_was_left_out_is_bounded_too(empty: Client) -> None:
    """Ten thousand FIFOs make a thousand lines and a number."""
    empty.run(["python3", "-c", "import os\nfor n in range(3000): os.mkfifo('fifo%05d' % n)"])
    got, closing = empty.export()

    assert got == {}
    assert len(closing["omitted"]) == 1000
    assert closing["omitted_more"] == 2000


def test_homes_and_prompts_come_out_as_well(empty: Client) -> None:
    """The other roots can be exported too."""
    empty.load({"p.md": b"x"}, root="run")
    empty.load({".rc": b"y"}, root="home")

    assert bytes(empty.export(root="run")[0]["p.md"][2]) == b"x"
    assert bytes(empty.export(root="home")[0][".rc"][2]) == b"y"


def test_the_images_home_comes_along(open_guest: Opener) -> None:
    """HOME is a fresh copy of the image user's own, as far as the limit allows, and says so if not."""
    with open_guest() as (whole, _):
        ready = whole.hello(image_home_limit=1 << 20)
        listed = whole.sh(
            "cd /home/agent && find . -type f | sort; echo =; cd ~ && find . -type f | sort; stat -c %u .bashrc"
        ).out
    with open_guest() as (cut, _):
        short = cut.hello(image_home_limit=100)
    with open_guest() as (none, _):
        nothing = none.hello(image_home_limit=0)

    image, ours = listed.split("=\n")
    assert ours == image + "1000\n"
    assert ready["home_complete"]
    assert ready["home_bytes"] > 0
    assert not short["home_complete"]
    assert short["home_bytes"] <= 100
    assert (nothing["home_complete"], nothing["home_bytes"]) == (True, 0)
