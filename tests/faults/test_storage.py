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

# A run in a file system of its own, so small that it is full soon; what is left of it is copied out.
IN_A_SMALL_PLACE = """
mount -t tmpfs -o size="$1" none "$2" && shift 2 || exit 99
cd "$1" && "$2" -m takeover run tier2_fintech --arm Vanilla --agent liar --runs small --run-id full
code=$?
cp -a small/. kept
exit $code
"""


@pytest.mark.docker
@pytest.mark.parametrize("size", ["8k", "60k", "84k", "132k"])
def test_a_disk_that_fills_up(engine: DockerEngine, tmp_path: Path, size: str) -> None:
    """Wherever a run meets the end of its disk: exit code 3 and why, whole files only, no verdict unsigned."""
    for name in ("small", "kept"):
        (tmp_path / name).mkdir()
    command = ["unshare", "-m", "sh", "-c", IN_A_SMALL_PLACE, "sh", size, str(tmp_path / "small"), str(tmp_path)]
    if os.geteuid() or not shutil.which("unshare"):
        pytest.skip("needs root and unshare(1) for a file system of its own")
    env = {**os.environ, "TAKEOVER_SIGNING_KEY": str(tmp_path / "signing.key")}
    done = subprocess.run([*command, sys.executable], env=env, capture_output=True, text=True, check=False)
    if done.returncode == 99:
        pytest.skip("no file system can be mounted here")

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
