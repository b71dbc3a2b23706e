"""The files of an arm that are made for a task: the map of its baseline, and Gate I's command to compare hashes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from ..sandbox.appmap import AppMap, build_map
from ..sandbox.appmap_render import render
from ..sandbox.gate_copy import COMMAND_NAME, in_sandbox_check_source
from .boundaries import Wiring
from .trialtask import TrialTask

APP_MAP = "app_map.md"
PATHS = {"app_map": APP_MAP, "gate_check": COMMAND_NAME}
FULL_SHA256 = 64


def generated_files(kinds: Sequence[str], task: TrialTask, written: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files of these kinds for a workspace of the task and the arm's own files.

    The map holds hashes only beside the command that compares them; the command's own is among them.
    """
    made: dict[str, bytes] = {}
    if "gate_check" in kinds:
        made[COMMAND_NAME] = in_sandbox_check_source().encode("utf-8")
    if "app_map" in kinds:
        app = workspace_map({**task.workspace_files(), **written, **made}, task.wiring)
        digits = FULL_SHA256 if "gate_check" in kinds else 0
        made[APP_MAP] = render(app, hash_digits=digits).encode("utf-8", "surrogateescape")
    return made


def workspace_map(files: Mapping[str, bytes], wiring: Wiring) -> AppMap:
    """The app map of a workspace, with the boundaries of its packages."""
    sources = tuple((path, data) for path, data in sorted(files.items()) if path.endswith(".py"))
    return _mapped(sources, tuple(boundary_rules(wiring).items()))


def boundary_rules(wiring: Wiring) -> dict[str, str]:
    """What a map says of each package that may not import all the others."""
    rules = {}
    for package in wiring.packages:
        forbidden = wiring.forbidden(package)
        if forbidden:
            rules[package] = "may not import " + ", ".join(name for name in wiring.packages if name in forbidden)
    return rules


# All variants of a task share their baseline, and a run loads an arm for each of them.
@lru_cache(maxsize=16)
def _mapped(sources: tuple[tuple[str, bytes], ...], rules: tuple[tuple[str, str], ...]) -> AppMap:
    return build_map(dict(sources), rules=dict(rules))
