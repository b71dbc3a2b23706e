"""What Gate I and the app map cost on a real tree, beside the bare work that they cannot do without.

    python tests/sandbox/measure_gate.py DIR

Reference and measurement take turns, so that a busy machine slows both; the fastest of each counts.
"""

from __future__ import annotations

import ast
import gc
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from takeover.sandbox import dsse, gate
from takeover.sandbox.appmap import build_map


def measure_gate(root: Path, repeat: int = 7) -> dict[str, float]:
    """Seconds: `sha256sum` over the files of `root`; the record of it; a check from signed manifest to verdict."""
    files = b"".join(os.fsencode(path) + b"\0" for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    key = dsse.generate_key()
    envelope = gate.sign(gate.record_folder(root), key, subject="measure")

    def reference() -> None:
        subprocess.run(["xargs", "-0", "sha256sum"], input=files, stdout=subprocess.DEVNULL, check=True)

    def record() -> None:
        assert gate.record_folder(root).root

    def check() -> None:
        opened = gate.verify(envelope, key.public, subject="measure")
        assert opened.record is not None
        assert gate.check(opened.record, gate.record_folder(root)).clean

    seconds = _fastest({"sha256sum": reference, "record": record, "check": check}, repeat)
    return seconds | {
        "files": files.count(b"\0"),
        "record_ratio": seconds["record"] / seconds["sha256sum"],
        "check_ratio": seconds["check"] / seconds["sha256sum"],
    }


def measure_appmap(root: Path, repeat: int = 5) -> dict[str, float]:
    """Seconds: reading and `ast.parse` of every source on all cores; the map of it; the map again from its cache."""
    sources = [path for path in root.rglob("*.py") if path.is_file() and not path.is_symlink()]
    cores = len(os.sched_getaffinity(0))

    def reference() -> None:
        with multiprocessing.get_context("fork").Pool(cores, _prepare) as pool:
            pool.map(_parse, sources, chunksize=32)

    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder) / "cache"
        build_map(root, cache=cache)
        seconds = _fastest(
            {
                "ast_parse": reference,
                "map": lambda: build_map(root),
                "map_cached": lambda: build_map(root, cache=cache),
            },
            repeat,
        )
    return seconds | {
        "files": len(sources),
        "cores": cores,
        "map_ratio": seconds["map"] / seconds["ast_parse"],
        "map_cached_ratio": seconds["map_cached"] / seconds["ast_parse"],
    }


def _prepare() -> None:
    gc.disable()
    warnings.simplefilter("ignore")


def _parse(path: Path) -> None:
    try:
        ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return


def _fastest(what: dict[str, Callable[[], object]], repeat: int) -> dict[str, float]:
    best = dict.fromkeys(what, float("inf"))
    for _ in range(repeat):
        for name, run in what.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


if __name__ == "__main__":
    place = Path(sys.argv[1])
    print(json.dumps({"gate": measure_gate(place), "appmap": measure_appmap(place)}, indent=2))
