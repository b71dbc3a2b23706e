"""Sandboxes begin fresh, end when they should, and when one fails it is said how."""

from __future__ import annotations

import io
import tarfile
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from ..cutoff import CutoffRule
from ..errors import ImageUnfit, MachineryError, SandboxDied, SandboxOutOfMemory
from ..limits import MIB
from .kit import LIMITS, Bench, Check, NotHeld, describe, require

_GONE_WITHIN: Final = 15.0


def _gone(bench: Bench, known: set[str]) -> float:
    """How long it takes until only the known containers are left."""
    began = time.monotonic()
    while bench.containers() - known:
        if time.monotonic() - began > _GONE_WITHIN:
            raise NotHeld(f"a container is still there after {_GONE_WITHIN:.0f} s")
        time.sleep(0.05)
    return time.monotonic() - began


def _raised(act: Callable[[], object]) -> MachineryError:
    try:
        act()
    except MachineryError as error:
        return error
    raise NotHeld("nothing was raised")


def _removed(bench: Bench) -> str:
    before, volumes = bench.containers(), bench.backstage.volumes()
    with bench.fresh():
        during = bench.containers() - before
    after = bench.containers() - before
    grown = bench.backstage.volumes() - volumes
    return require(len(during) == 1 and not after and not grown, f"{len(during)} while open, {len(after)} after")


def _removed_after_an_error(bench: Bench) -> str:
    before = bench.containers()
    try:
        with bench.fresh():
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass
    left = bench.containers() - before
    return require(not left, f"{len(left)} left by the time the interrupt was seen")


def _wire_death(bench: Bench) -> str:
    before = bench.containers()
    with bench.fresh() as sandbox, sandbox.open_process(["sh", "-c", "trap '' TERM; sleep 300"]):
        sandbox.close()
        seconds = _gone(bench, before)
    return f"gone {seconds:.2f} s after its wire was cut, with an agent at work in it"


def _killed(bench: Bench) -> str:
    before = bench.containers()

    def act() -> None:
        with bench.fresh() as sandbox:
            (container,) = bench.containers() - before
            bench.backstage.kill(container)
            sandbox.run(["sleep", "10"], wall=20)

    error = _raised(act)
    plain = isinstance(error, SandboxDied) and not isinstance(error, SandboxOutOfMemory)
    require(not bench.containers() - before, "its container is still there")
    return require(plain, f"{type(error).__name__}: {error}")


def _out_of_memory(bench: Bench) -> str:
    before = bench.containers()

    def act() -> None:
        # Too little for the guest itself.
        with bench.fresh(limits=replace(LIMITS, memory=6 * MIB)) as sandbox:
            sandbox.run(["true"], wall=20)

    error = _raised(act)
    require(not bench.containers() - before, "its container is still there")
    return require(isinstance(error, SandboxOutOfMemory), f"{type(error).__name__}: {error}")


def _fresh_session(bench: Bench) -> str:
    places = "/takeover-home /tmp /var/tmp /dev/shm /workspace/kept"
    with bench.fresh() as first:
        bench.sh(f"mkdir -p kept; for d in {places}; do echo note > $d/note-of-the-first; done; sleep 300 &", first)
        snapshot, _ = bench.export(first)
    with bench.fresh() as second:
        second.load(bench.store.open(snapshot.sha256))
        told = bench.sh("find / -name note-of-the-first 2>/dev/null; ls /proc | grep -c '^[0-9]'", second)
    lines = told.stdout.decode().split()
    return require(lines[:-1] == ["/workspace/kept/note-of-the-first"] and int(lines[-1]) < 10, f"found: {lines}")


def _cutoff(bench: Bench, script: str) -> str:
    with bench.fresh() as sandbox:
        bench.sh("git init -q . && git config user.name a && git config user.email a@example.com", sandbox)
        bench.sh("echo x=1 > a.py && git add -A && git commit -qm base", sandbox)
        result = bench.sh(script, sandbox, cutoff=CutoffRule("first-edit"))
        after = bench.sh("git rev-list --count HEAD; cat b.py 2>/dev/null", sandbox)
    require(result.how == "cutoff" and result.cutoff is not None and result.cutoff.path == "a.py", describe(result))
    if result.mode == "approximate":
        return f"approximate, and said so: {result.cutoff}"
    return require(
        after.stdout == b"1\n" and result.cutoff and result.cutoff.exact, f"commits, second edit: {after.stdout!r}"
    )


def _missing_image(bench: Bench) -> str:
    error = _raised(lambda: bench.engine.image("takeover-no-such-image:none"))
    return require(isinstance(error, ImageUnfit) and error.hint, f"{error} ({error.hint})")


def _no_python(bench: Bench) -> str:
    before = bench.containers()
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("empty"))

    def act(image: str) -> None:
        with bench.fresh(image):
            pass

    with bench.backstage.imported(archive.getvalue()) as image:
        error = _raised(lambda: act(image))
    require(not bench.containers() - before, "its container is still there")
    return require(isinstance(error, ImageUnfit) and "python3" in str(error), f"{type(error).__name__}: {error}")


def _last_words(bench: Bench) -> str:
    with bench.fresh() as sandbox:
        guest = sandbox.guest
    version = tuple(int(part) for part in guest.python.split(".")[:2])
    return require(version >= (3, 8), f"Python {guest.python}, kernel {guest.kernel}, {guest.arch}")


CHECKS: Final = (
    Check("life.ready", "The guest says what it stands on.", _last_words),
    Check("life.removed", "A closed sandbox leaves no container and no volume.", _removed),
    Check("life.interrupted", "An interrupted one leaves none either.", _removed_after_an_error),
    Check("life.wire", "When its wire is cut, a sandbox ends by itself.", _wire_death),
    Check("life.killed", "A sandbox killed from outside is said to have died.", _killed),
    Check("life.out-of-memory", "One that ran out of memory itself is told apart from that.", _out_of_memory),
    Check("life.fresh", "A second session sees the workspace and nothing else of the first.", _fresh_session),
    Check("life.missing-image", "A missing image is named, with what to do.", _missing_image),
    Check("life.no-python", "An image without python3 is refused with that reason.", _no_python),
    Check(
        "cut.commit", "No commit gets past the cutoff.", lambda b: _cutoff(b, "sed -i s/1/2/ a.py && git commit -qam x")
    ),
    Check("cut.second-edit", "No second edit gets past it.", lambda b: _cutoff(b, "echo y=1 >> a.py; echo z > b.py")),
)
