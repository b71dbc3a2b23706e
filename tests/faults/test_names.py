"""Copies that follow a link or a name to the host: a folder that an agent worked in is taken in as it lies there."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from meddling import carry_out, plan_for, scripted

from takeover.sandbox.engine import DockerEngine
from takeover.sandbox.errors import InputError
from takeover.sandbox.limits import Limits
from takeover.sandbox.store import SnapshotStore
from takeover.trials.intake import take_in
from takeover.trials.regrade import regrade
from takeover.trials.signing import Signer

NAMES = [b"-rf", b"a\nb", b"\x1b[2J", b"\xff\xfe", b"x" * 255, b"..x", b"...", b"a b;$(id)", "é".encode(), b"CON"]


def test_a_root_that_became_a_link_is_refused(store: SnapshotStore, tmp_path: Path) -> None:
    """The agent replaced its own folder by a link to somebody's home."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "id_rsa").write_text("secret")
    (tmp_path / "work").symlink_to(tmp_path / "home")

    with pytest.raises(InputError, match="work"):
        take_in(tmp_path / "work", store)


def test_odd_names_and_kinds_come_in_as_what_they_are(store: SnapshotStore, tmp_path: Path) -> None:
    """Names are bytes, links are text, and what is no file, folder or link is named and left out."""
    work = tmp_path / "work"
    work.mkdir()
    for name in NAMES:
        (Path(os.fsdecode(os.fsencode(work) + b"/" + name))).write_bytes(name)
    (work / "state.md").symlink_to("/etc/shadow")
    (work / "all").symlink_to("/")
    os.mkfifo(work / "pipe.py")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(work / "socket.py"))
        taken = take_in(work, store)

    assert {os.fsencode(path) for path, item in taken.manifest.items() if item.kind == "f"} == set(NAMES)
    assert {path: taken.manifest[path].target for path in ("state.md", "all")} == {
        "state.md": "/etc/shadow",
        "all": "/",
    }
    assert {(one.path, one.reason) for one in taken.omitted} == {("pipe.py", "fifo"), ("socket.py", "socket")}


def test_a_folder_beyond_the_limits_is_cut_and_told(store: SnapshotStore, tmp_path: Path) -> None:
    """A file of terabytes and too many files cost nothing but themselves."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "many").mkdir()
    for number in range(50):
        (work / "many" / f"{number:02}").touch()
    with (work / "a-sparse.bin").open("wb") as file:
        file.truncate(3 << 40)
    taken = take_in(work, store, Limits(inodes=20))

    assert not taken.complete
    assert len(taken.manifest) < 20
    assert {(one.path, one.reason) for one in taken.omitted} == {("many", "files"), ("a-sparse.bin", "bytes")}


@pytest.mark.docker
def test_a_name_that_is_no_text_is_no_way_out(engine: DockerEngine, tmp_path: Path, key: Signer) -> None:
    """What is left out of a snapshot may be called anything: the trial is graded, and graded again to the same bytes."""
    left = "import os\nfor n in (b'\\xff.py', b'a\\nb', b'\\x1b[2J'): os.mkfifo(n)"
    agent = scripted("odd", f'python3 -c "{left}"; exit 0')
    result, _ = carry_out(engine, tmp_path / "odd", plan_for(agent), key)
    (card,) = result.scorecards.values()
    again = regrade(result.paths, result.planned[0], engine)

    assert card.outcome == "graded", card.failure
    assert len(card.sessions[0].omitted) == 3
    assert all(text.isprintable() for text in card.sessions[0].omitted)
    assert again is not None
    assert again.how == "same"
