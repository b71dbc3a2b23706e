"""What `takeover import` and `takeover transcript show` do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ..grader.report import console
from ..sandbox.errors import InputError
from ..sandbox.transcript.show import render_report, render_transcript
from ..sandbox.transcript.sniff import import_file
from .record import write_bytes


def import_command(files: Sequence[Path], *, out: Path | None, item: str | None) -> None:
    """Import each file, report what was dropped, and write ATIF if there is a place for it."""
    terminal = console()
    for file in files:
        transcript, report = import_file(file, item=item)
        render_report(report, terminal)
        if out is not None:
            target = out / f"{re.sub(r'[^A-Za-z0-9._-]+', '-', file.name)}.atif.json"
            if target.exists():
                raise InputError(f"{target}: exists already", hint="Choose another --out.")
            write_bytes(target, transcript.model_dump_json(exclude_none=True).encode() + b"\n")
            terminal.print(str(target), markup=False, soft_wrap=True)


def show_command(file: Path, *, item: str | None) -> None:
    """Show one transcript."""
    transcript, _ = import_file(file, item=item)
    render_transcript(transcript, console())
