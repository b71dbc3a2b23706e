"""Gate I, the app map and the model gateway, each beside the bare work that it cannot do without."""

from __future__ import annotations

import ast
import gc
import importlib
import multiprocessing
import os
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import warnings
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from types import ModuleType

import httpx

from takeover.sandbox import dsse, gate
from takeover.sandbox.appmap import build_map
from takeover.sandbox.gateway.budget import Budget, Limits
from takeover.sandbox.gateway.gateway import Files, Gateway
from takeover.sandbox.gateway.settings import Pinned, Settings

from .rows import Row, interleaved

FILES = 3000
CALLS = 100
WARM = 5
GATEWAY_MEANS = Path(__file__).parents[1] / "tests" / "sandbox" / "gateway"


def tree_rows(rounds: int) -> Iterator[Row]:
    """Gate I and the app map over sources of the Python that runs this."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        count = _sources(root)
        yield from _gate_rows(root, count, rounds)
        yield _map_row(root, count, rounds)


def gateway_row() -> Row:
    """How much later the answer to a call of 80 KB is there than straight from the server."""
    kit = _gateway_means()
    mine, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=kit.serve, args=("whole", theirs), daemon=True)
    server.start()
    try:
        direct, through = _calls(kit, mine.recv())
    finally:
        server.kill()
        server.join()
    added = statistics.median(through) - statistics.median(direct)
    note = f"direct {statistics.median(direct):.2f} ms, {CALLS} calls in turns"
    return Row(
        "model call through the gateway: p50 over a direct one", added, "ms", target=2, judged="value", note=note
    )


def _gate_rows(root: Path, count: int, rounds: int) -> Iterator[Row]:
    files = b"".join(os.fsencode(path) + b"\0" for path in root.rglob("*") if path.is_file())
    key = dsse.generate_key()
    envelope = gate.sign(gate.record_folder(root), key, subject="bench")

    def reference() -> None:
        subprocess.run(["xargs", "-0", "sha256sum"], input=files, stdout=subprocess.DEVNULL, check=True)

    def check() -> None:
        opened = gate.verify(envelope, key.public, subject="bench")
        assert opened.record is not None
        assert gate.check(opened.record, gate.record_folder(root)).clean

    recorded, checked, floor = interleaved([lambda: gate.record_folder(root), check, reference], rounds)
    yield Row(f"Gate I: record {count:,} files", recorded, "s", floor, 1.5, note="floor: sha256sum")
    yield Row(
        f"Gate I: verify the manifest and check {count:,} files", checked, "s", floor, 1.5, note="floor: sha256sum"
    )


def _map_row(root: Path, count: int, rounds: int) -> Row:
    sources = sorted(root.rglob("*.py"))
    cores = len(os.sched_getaffinity(0))

    def reference() -> None:
        with multiprocessing.get_context("fork").Pool(cores, _prepare) as pool:
            pool.map(_parse, sources, chunksize=32)

    mapped, floor = interleaved([lambda: build_map(root), reference], max(3, rounds // 3))
    return Row(f"app map of {count:,} files", mapped, "s", floor, 1.3, note=f"floor: ast.parse on {cores} cores")


def _sources(root: Path) -> int:
    """So many sources as a tree of their own, whatever else lies where they are from."""
    paths = sysconfig.get_paths()
    found = (path for place in (paths["stdlib"], paths["purelib"]) for path in sorted(Path(place).rglob("*.py")))
    taken = list(islice((path for path in found if path.is_file()), FILES))
    for number, path in enumerate(taken):
        target = root / f"part{number % 50}" / f"module_{number}.py"
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(path.read_bytes())
    return len(taken)


def _calls(kit: ModuleType, url: str) -> tuple[list[float], list[float]]:
    """Milliseconds to the last byte: of direct calls, and through the gateway."""
    settings = Settings(pinned=Pinned(model="m-1", temperature=0.0))
    budget = Budget("run", Limits(tokens=10**9, calls=10**6))
    rows = []
    with tempfile.TemporaryDirectory() as folder, kit.real(url) as upstream, httpx.Client() as client:
        files = Files(Path(folder, "transcript.json"), Path(folder, "calls.jsonl"))
        with Gateway(upstream, settings, files=files, budget=budget) as gateway:
            for number in range(WARM + CALLS):
                asked = kit.request(number, False)
                rows.append((kit.direct(client, url, asked)[1], kit.through(gateway, asked)[1]))
    plain, ours = zip(*rows[WARM:], strict=True)
    return [1000 * one for one in plain], [1000 * one for one in ours]


def _gateway_means() -> ModuleType:
    sys.path.insert(0, str(GATEWAY_MEANS))
    return importlib.import_module("measure_gateway")


def _prepare() -> None:
    gc.disable()
    warnings.simplefilter("ignore")


def _parse(path: Path) -> None:
    try:
        ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return
