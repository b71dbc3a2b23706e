"""What `takeover import` and `takeover transcript show` do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from ..grader.report import console
from ..grader.scorecard import Session
from ..grader.text import one_line
from ..sandbox.errors import InputError
from ..sandbox.transcript.model import Transcript
from ..sandbox.transcript.show import render_report, render_transcript
from ..sandbox.transcript.sniff import import_file
from ..sandbox.transcript.writer import journal_of
from .record import StepPaths, write_bytes
from .sessions import SessionUsage, read_meta

_SESSION = re.compile(r"([1-9][0-9]{0,3})-session")


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


def show_command(place: Path, *, item: str | None) -> None:
    """Show one transcript, or those of all sessions in the folder of a trial."""
    if not place.is_dir():
        transcript, _ = import_file(place, item=item)
        render_transcript(transcript, console())
        return
    sessions = _sessions(place)
    if not any(_transcript(step).is_file() for _, step in sessions):
        raise InputError(f"{place}: holds no transcript", hint="Name a trial that ran with a model, or a file.")
    for number, step in sessions:
        _show_session(number, step, console())


def _sessions(folder: Path) -> list[tuple[int, StepPaths]]:
    """The sessions in a trial's folder, or the one whose folder it is."""
    if (folder / "run.json").is_file():
        names = sorted(path.name for path in (folder / "trials").glob("*") if path.is_dir())
        raise InputError(
            f"{folder}: is a run; name one of its trials", hint=one_line(f"It has {', '.join(names) or 'none'}.", 400)
        )
    found = [folder] if _SESSION.fullmatch(folder.resolve().name) else list(folder.iterdir())
    numbered = [(match, path) for path in found if (match := _SESSION.fullmatch(path.resolve().name))]
    return sorted(((int(match[1]), StepPaths(path)) for match, path in numbered), key=lambda one: one[0])


def _show_session(number: int, step: StepPaths, out: Console) -> None:
    ended, cut, found = "it was broken off", False, list[str]()
    if step.meta.is_file():
        meta = read_meta(step)
        ended, cut, found = _ended(meta.session), meta.session.cutoff is not None, _findings(meta.usage)
    out.print(Text(one_line(f"════ session {number}: {ended} ════", 400), style="bold"), soft_wrap=True)
    if not (file := _transcript(step)).is_file():
        out.print("no transcript: it had no model", markup=False)
        return
    transcript, _ = import_file(file)
    render_transcript(transcript, out, _last_step(transcript) if cut else None)
    for line in found:
        out.print(Text(f"  note: {line}", style="yellow"), soft_wrap=True)
    out.print()


def _findings(usage: SessionUsage | None) -> list[str]:
    """What the gateway found worth noting: another model, a budget that is used up, tokens that nobody knows."""
    found = usage.report.get("findings") if usage is not None else None
    lines = []
    for one in found if isinstance(found, list) else ():
        match one:
            case [str(_), str(detail), int(count)]:
                lines.append(one_line(detail, 300) + (f" ({count:,} times)" if count > 1 else ""))
    return lines


def _transcript(step: StepPaths) -> Path:
    """The transcript, or what there is of it while the session runs or after it was killed."""
    return step.transcript if step.transcript.is_file() else journal_of(step.transcript)


def _ended(session: Session) -> str:
    if session.cutoff is None:
        code = "" if session.code is None else f" with {session.code}"
        return f"{session.exit}{code}"
    cutoff = session.cutoff
    exact = "exact" if cutoff.exact else f"not exact: {cutoff.why_not or 'changes came after it'}"
    return f"cutoff {cutoff.rule}{f' at {cutoff.path}' if cutoff.path else ''} ({exact})"


def _last_step(transcript: Transcript) -> int | None:
    """The agent's last step, which the cut ended; titles and the like are no steps of its work."""
    own = [step for step in transcript.steps if step.source == "agent" and not (step.extra or {}).get("side_request")]
    return own[-1].step_id if own else None
