"""Which model answers a run: the real APIs, a server, a script or a cassette; recorded or not. Imports httpx."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import InputError
from .cassette import CassetteWriter
from .real import Real
from .recording import Recording
from .redaction import Redactor
from .replay import Replaying
from .script_file import load_script
from .targets import real_targets, server_targets, trust
from .upstream import Supply


@dataclass(frozen=True, slots=True)
class Source:
    """What the user chose: `--upstream URL`, `--script FILE`, `--replay FILE`, or none for the real APIs; `--record FILE`.

    `resumed` says that the run goes on, so that its recording does too.
    """

    upstream: str | None = None
    script: Path | None = None
    replay: Path | None = None
    record: Path | None = None
    resumed: bool = False


@contextlib.contextmanager
def open_supply(source: Source, environ: Mapping[str, str]) -> Iterator[tuple[Supply, Redactor]]:
    """The supply for a run, and what takes its keys out of everything that is written. Raises InputError."""
    if sum(one is not None for one in (source.upstream, source.script, source.replay)) > 1:
        raise InputError("--upstream, --script and --replay exclude each other", hint="Give one of them, or none.")
    if source.replay is not None and source.record is not None:
        raise InputError("--record has nothing to record beside --replay", hint="Give one of them.")
    supply = _supply(source, environ)
    try:
        redactor = Redactor(supply.secrets())
        if source.record is not None:
            supply = Recording(supply, CassetteWriter(source.record, redactor, append=source.resumed))
        yield supply, redactor
    finally:
        supply.close()


def _supply(source: Source, environ: Mapping[str, str]) -> Supply:
    if source.replay is not None:
        return Replaying(source.replay)
    if source.script is not None:
        return load_script(source.script)
    targets = real_targets(environ) if source.upstream is None else server_targets(source.upstream, environ)
    return Real(targets, trust(environ))
