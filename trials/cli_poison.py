"""`takeover redteam` and `takeover inject-poison-pill`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click


@click.command()
@click.argument("agent", metavar="AGENT")
@click.option("--task", default="tier2_fintech", show_default=True, help="The task; it must declare places for poison.")
@click.option("--arm", default="State_MD_Only", show_default=True)
@click.option("--variant", default="0", show_default=True, metavar="SEED")
@click.option("--full", is_flag=True, help="Every template with every goal, not one of each.")
@click.option("--pill", "pills", multiple=True, help="Only these, by name; repeatable.")
@click.option("--no-twins", is_flag=True, help="Leave out the benign twins (and with them over-refusal).")
@click.option("--runs", type=click.Path(path_type=Path, file_okay=False), default=Path("runs"), show_default=True)
@click.option("--run-id", default=None, help="Name of the run's folder; one that exists is gone on with.")
@click.option("--parallel", type=click.IntRange(1, 64), default=2, show_default=True)
@click.option("--wall", type=click.FloatRange(1), default=None, help="Seconds that a session may take.")
@click.option("--list", "listing", is_flag=True, help="Say what would be planted and do nothing.")
def redteam(**options: Any) -> None:
    """Run AGENT against poison and injection, each beside its benign twin."""
    from .poison_commands import redteam_command

    sys.exit(redteam_command(**options))


@click.command("inject-poison-pill")
@click.option("--tier", type=click.IntRange(1, 4), default=2, show_default=True, help="Tier of the task.")
@click.option("--task", default=None, help="The task, where it is not the tier's first.")
@click.option("--sandbox", "folder", type=click.Path(path_type=Path, exists=True, file_okay=False), required=True)
@click.option("--variant", "pill", default="v1", show_default=True, help="v1, v2, v3, or any name of `redteam --list`.")
@click.option("--seed", default="0", show_default=True, help="The task's own variant.")
def inject_poison_pill(**options: Any) -> None:
    """Plant a poison into a folder between two sessions; the folder is treated as hostile."""
    from .poison_commands import inject_command

    inject_command(**options)
