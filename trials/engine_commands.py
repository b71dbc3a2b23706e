"""The commands about the engine itself: whether it keeps what the sandbox promises, and what is left on it."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from ..grader.report import console
from ..grader.text import one_line
from ..sandbox.conformance import run_checks, select
from ..sandbox.engine import DockerEngine
from ..sandbox.image_store import Cleared, clear_images
from .progress import ConsoleProgress
from .results import DONE, FELL_SHORT


def doctor_command(image: str, names: Sequence[str], *, listing: bool) -> int:
    """Run the conformance list; 1 if something does not hold."""
    out, chosen = console(), select(names)
    if listing:
        for check in chosen:
            out.print(f"{check.name}: {check.claim}", markup=False, soft_wrap=True)
        return DONE
    engine = DockerEngine.from_env()
    engine.image(image)
    info = engine.info()
    out.print(f"{info.name} {info.version} ({info.origin}), kernel {info.kernel}, cgroup {info.cgroup}", markup=False)
    broken = total = 0
    with ConsoleProgress(Console(stderr=True), len(chosen), "checks") as progress:
        for result in run_checks(engine, image, names):
            total += 1
            broken += not result.passed
            mark = "ok  " if result.passed else "FAIL"
            line = f"{mark}  {result.name}: {result.claim if result.passed else one_line(result.evidence)}"
            progress.result(line, out, style=None if result.passed else "red")
    out.print(f"{total - broken} of {total} hold", markup=False)
    return FELL_SHORT if broken else DONE


def gc_command(*, images: bool = False) -> int:
    """Remove what dead runs left and, with `images`, what newer builds have replaced."""
    engine, out = DockerEngine.from_env(), console()
    out.print(f"{len(engine.sweep())} containers removed")
    if images:
        print_cleared(clear_images(engine.client), out)
    return DONE


def print_cleared(cleared: Cleared, out: Console) -> None:
    """What became of images that are outdated."""
    for tag in cleared.removed:
        out.print(f"{tag}: removed", markup=False, soft_wrap=True)
    for tag in cleared.used:
        out.print(f"{tag}: kept, a container uses it", markup=False, soft_wrap=True)
    freed = "how much that freed is unknown" if cleared.freed is None else f"{_megabytes(cleared.freed)} freed"
    out.print(f"{len(cleared.removed)} images removed, {freed}", soft_wrap=True)
    if cleared.cache:
        left = f"{_megabytes(cleared.cache)} in the builder's cache"
        out.print(f"{left}, which all builds on this engine share: `docker builder prune` frees it", soft_wrap=True)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"
