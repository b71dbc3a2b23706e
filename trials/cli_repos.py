"""`takeover repos`: the real codebases that ship, and a task made of another one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

_FOLDER = click.Path(path_type=Path, file_okay=False)


@click.group()
def repos() -> None:
    """Tasks on real codebases, with bugs that their own tests do not notice."""


@repos.command("list")
@click.argument("task", required=False)
def repos_list(task: str | None) -> None:
    """List the codebases, or the bugs of one."""
    from .repo_commands import list_command

    sys.exit(list_command(task))


@repos.command("add")
@click.argument("name")
@click.option("--package", default=None, metavar="NAME", help="A project on the package index.")
@click.option("--git", default=None, metavar="URL", help="A git repository, by its address or folder.")
@click.option("--folder", type=_FOLDER, default=None, help="A folder that holds the release.")
@click.option("--version", required=True, help="The release at which the bugs are there.")
@click.option("--revision", default=None, help="Of the git repository  [default: the version]")
@click.option("--fixed-version", default=None, metavar="VERSION", help="A release of the package without the bugs.")
@click.option("--fixed-revision", default=None, metavar="REVISION", help="A revision without the bugs.")
@click.option("--fixed-folder", type=_FOLDER, default=None, help="A folder that holds a release without the bugs.")
@click.option(
    "--probes",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="YAML: the bugs, and for each a probe and what it gives where the bug is gone.",
)
@click.option("--into", type=_FOLDER, default=Path(), help="Where the task's folder is made  [default: here]")
def repos_add(**options: Any) -> None:
    """Make a task called NAME of a release and probes; refuses every probe that does not hold, by name."""
    from .repo_commands import add_command

    sys.exit(add_command(**options))
