"""A full disk, a name that is taken, a key that is another: nothing half-written, nothing overwritten, exit code 3."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fakes import FakeEngine
from meddling import carry_out, plan_for, scripted

from takeover.sandbox.dsse import generate_key, load_public_key, verify
from takeover.sandbox.engine import DockerEngine
from takeover.sandbox.errors import InputError, StorageError
from takeover.trials import record
from takeover.trials.record import TrialPaths, claim
from takeover.trials.signing import SCORECARD_TYPE, Signer
from takeover.trials.surroundings import ROOM_FOR_TRIAL, need_room

# A run in a small file system of its own; its results are copied out. Once the run has begun, something else leaves it
# no more than so many KiB (what is left counts when it begins, and is refused then), or it has few inodes from the start.
IN_A_SMALL_PLACE = """
mount -t tmpfs -o "$1" none "$3" || exit 99
left=$2 place=$3
fill() {
    until [ -e small/full/run.json ]; do sleep 0.01; done
    head -c $((($(df -Pk small | awk 'NR == 2 {print $4}') - left) * 1024)) /dev/zero >small/other
}
cd "$4" && { [ -z "$left" ] || fill & }
"$5" -m takeover run tier2_fintech --arm Vanilla --agent liar --runs small --run-id full
code=$?
cp -a small/. kept
exit $code
"""
PLACES = [("size=64m", "8"), ("size=64m", "60"), ("size=64m", "84"), ("size=64m", "132")]


def in_a_small_place(folder: Path, options: str, left: str) -> subprocess.CompletedProcess[str]:
    for name in ("small", "kept"):
        (folder / name).mkdir()
    words = [options, left, str(folder / "small"), str(folder), sys.executable]
    if os.geteuid() or not shutil.which("unshare"):
        pytest.skip("needs root and unshare(1) for a file system of its own")
    env = {**os.environ, "TAKEOVER_SIGNING_KEY": str(folder / "signing.key")}
    command = ["unshare", "-m", "sh", "-c", IN_A_SMALL_PLACE, "sh", *words]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode == 99:
        pytest.skip("no file system can be mounted here")
    return done


@pytest.mark.docker
@pytest.mark.parametrize(("options", "left"), [*PLACES, ("size=64m,nr_inodes=5", ""), ("size=64m,nr_inodes=12", "")])
def test_a_disk_that_fills_up(engine: DockerEngine, tmp_path: Path, options: str, left: str) -> None:
    """Wherever a run meets the end of its disk: exit code 3 and why, whole files only, no verdict unsigned."""
    done = in_a_small_place(tmp_path, options, left)

    assert done.returncode == 3, done.stderr
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) <= 5
    run = tmp_path / "kept" / "full"
    assert not list(run.rglob("*.part"))
    for file in run.rglob("*.json"):
        json.loads(file.read_bytes())
    for card in run.rglob("scorecard.json"):
        envelope = card.with_name("scorecard.json.sig").read_bytes()
        proved = verify(envelope, load_public_key(run / "signing.pub"), payload_type=SCORECARD_TYPE)
        assert proved.payload == card.read_bytes()
    assert engine.client.containers(all=True, filters={"label": ["takeover.run=full"]}) == []


@pytest.mark.docker
def test_a_disk_without_room_for_a_run(engine: DockerEngine, tmp_path: Path) -> None:
    """What the trials may need and what is free, in two lines, before anything is paid for; the same call can be repeated."""
    done = in_a_small_place(tmp_path, "size=12m", "")

    assert done.returncode == 3
    message, hint = done.stderr.splitlines()
    assert message.endswith("small/full: 12 MiB are free, and the run may need 20 MiB")
    assert "--runs" in hint
    assert list((tmp_path / "kept").iterdir()) == []


@pytest.mark.parametrize("folder", ["", "not/there/yet"])
def test_room_is_asked_of_the_disk_that_a_folder_will_be_on(tmp_path: Path, folder: str) -> None:
    """A run that needs more than there is, is refused; one that has its trials already needs nothing."""
    free = os.statvfs(tmp_path).f_bavail * os.statvfs(tmp_path).f_frsize
    need_room(tmp_path / folder, 0)
    need_room(tmp_path / folder, 1)
    with pytest.raises(StorageError, match="are free"):
        need_room(tmp_path / folder, 2 * free // ROOM_FOR_TRIAL)


def test_a_claim_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file could be made and not filled: no claim stays that nobody has."""
    paths = TrialPaths(tmp_path / "t")

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(record.os, "fsync", full)
        with pytest.raises(StorageError, match="No space left"):
            claim(paths, {})
    assert claim(paths, {}) is True


def test_a_run_of_the_same_name_is_not_overwritten(tmp_path: Path, key: Signer) -> None:
    """Two runs that begin in the same second and draw the same name: the second is refused, the first untouched."""
    plan = plan_for(scripted("idle", "true"))
    result, _ = carry_out(FakeEngine(), tmp_path / "r", plan, key)
    before = {file: file.read_bytes() for file in result.paths.root.rglob("*") if file.is_file()}

    with pytest.raises(InputError, match="exists"):
        carry_out(FakeEngine(), tmp_path / "r", plan, key)
    assert {file: file.read_bytes() for file in result.paths.root.rglob("*") if file.is_file()} == before


def test_a_run_has_one_key(tmp_path: Path, key: Signer) -> None:
    """Gone on with under another key, its first signatures would no longer hold; so it is not gone on with."""
    plan = plan_for(scripted("idle", "true"))
    result, _ = carry_out(FakeEngine(), tmp_path / "r", plan, key)
    published = result.paths.public_key.read_bytes()

    with pytest.raises(InputError, match="another key"):
        carry_out(FakeEngine(), tmp_path / "r", plan, Signer(generate_key()), resume=True)
    assert result.paths.public_key.read_bytes() == published == key.public_pem


def test_a_run_knows_its_images_and_agents(tmp_path: Path, key: Signer) -> None:
    """An image of the same name but other content, or an agent of another command, is another run."""

    class Rebuilt(FakeEngine):
        def image(self, ref: str) -> object:  # type: ignore[override]
            found = super().image(ref)
            return type(found)(ref, found.id[::-1], None, found.user, (), found.cmd, {})

    plan = plan_for(scripted("idle", "true"))
    carry_out(FakeEngine(), tmp_path / "r", plan, key)

    with pytest.raises(InputError, match="images"):
        carry_out(Rebuilt(), tmp_path / "r", plan, key, resume=True)
    with pytest.raises(InputError, match="agents"):
        carry_out(FakeEngine(), tmp_path / "r", plan_for(scripted("idle", "false")), key, resume=True)
