"""`takeover import` and `takeover transcript show`."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=None,
    help="Write each transcript as ATIF into this folder.",
)
@click.option("--item", default=None, help="Which instance, where a file holds several.")
def import_transcripts(files: tuple[Path, ...], out: Path | None, item: str | None) -> None:
    """Read transcripts of other harnesses; says what was dropped."""
    from .transcript_commands import import_command

    import_command(files, out=out, item=item)


@click.group()
def transcript() -> None:
    """Look at transcripts."""


@transcript.command()
@click.argument("place", metavar="TRIAL|FILE", type=click.Path(path_type=Path, exists=True))
@click.option("--item", default=None, help="Which instance, where a file holds several.")
def show(place: Path, item: str | None) -> None:
    """Show what was said to the model and by it: in all sessions of a TRIAL (its folder), or in a FILE of any format
    that `takeover import` reads."""
    from .transcript_commands import show_command

    show_command(place, item=item)
