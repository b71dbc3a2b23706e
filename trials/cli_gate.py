"""`takeover map` and `takeover gate`: what a tree consists of, and what became of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

_folder = click.Path(path_type=Path, exists=True, file_okay=False)
_file = click.Path(path_type=Path, exists=True, dir_okay=False)
_new = click.Path(path_type=Path, dir_okay=False)


@click.command("map")
@click.argument("tree", type=_folder)
@click.option("--package", default=None, help="Only this package.")
@click.option(
    "--max-tokens", type=click.IntRange(100), default=None, help="Most relevant modules first, up to so many tokens."
)
@click.option(
    "--hash-digits",
    type=click.IntRange(0, 64),
    default=64,
    show_default=True,
    help="Digits of each SHA-256; 0 leaves them out.",
)
@click.option(
    "--cache", type=click.Path(path_type=Path, file_okay=False), default=None, help="Remember unchanged files here."
)
@click.option("--out", type=_new, default=None, help="Write the map there instead of printing it.")
def app_map(
    tree: Path, package: str | None, max_tokens: int | None, hash_digits: int, cache: Path | None, out: Path | None
) -> None:
    """Describe the Python modules of TREE; nothing of it is imported or run."""
    from .gate_commands import map_command

    map_command(tree, package=package, max_tokens=max_tokens, hash_digits=hash_digits, cache=cache, out=out)


@click.group()
def gate() -> None:
    """Gate I: remember what every file was, and say later what became of each."""


_subject = click.option("--subject", required=True, help="What the manifest is of; another one's manifest is refused.")


@gate.command()
@click.argument("tree", type=_folder)
@click.option(
    "--key", type=_new, required=True, help="The signing key; made at first use, with mode 0600, KEY.pub beside it."
)
@click.option("--out", type=_new, required=True, help="Where the signed manifest goes; not inside TREE.")
@_subject
def record(**options: Any) -> None:
    """Write the signed manifest of TREE."""
    from .gate_commands import record_command

    record_command(**options)


@gate.command()
@click.argument("tree", type=_folder)
@click.option("--manifest", type=_file, required=True)
@click.option("--key", type=_file, required=True, help="The public key, KEY.pub.")
@_subject
def check(**options: Any) -> None:
    """Compare TREE with its manifest; exit code 1 if anything drifted."""
    from .gate_commands import check_command

    sys.exit(check_command(**options))


@gate.command()
@click.argument("manifest", type=_file)
@click.option("--key", type=_file, required=True, help="The public key, KEY.pub.")
@_subject
def verify(**options: Any) -> None:
    """Say whether a manifest is the signed one; exit code 1 if not."""
    from .gate_commands import verify_command

    sys.exit(verify_command(**options))
