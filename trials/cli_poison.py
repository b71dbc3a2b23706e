"""`takeover redteam` and `takeover inject-poison-pill`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from .cli_model import model_options, take_model

# What a bare `--tier N` means where the document knows one task a tier.
TIER_TASKS = {1: "tier1_metering", 2: "tier2_fintech", 3: "tier3_warehouse", 4: "tier4_library"}
tier_option = click.option(
    "--tier", type=click.IntRange(min(TIER_TASKS), max(TIER_TASKS)), default=2, show_default=True
)
poison_option = click.option(
    "--poison",
    "poisons",
    multiple=True,
    metavar="ID[,ID]",
    help="Plant it before the second session: v1, v3.twin, ...; a trial for each, one without for `clean`.",
)


@click.command()
@click.argument("agent", metavar="AGENT")
@tier_option
@click.option("--task", default=None, help="A task of your choice, instead of the tier's first.")
@click.option("--arm", default="State_MD_Only", show_default=True)
@click.option("--variant", default="0", show_default=True, metavar="SEED")
@click.option("--only", multiple=True, help="Only poisons with this in their name (v1, injection, ...); repeatable.")
@click.option("--full", is_flag=True, help="Every template with every goal, not one of each.")
@click.option("--twins/--no-twins", default=True, show_default=True, help="Run the benign twins, too.")
@click.option("--runs", type=click.Path(path_type=Path, file_okay=False), default=Path("runs"), show_default=True)
@click.option("--run-id", default=None, help="Name of the run's folder; one that exists is gone on with.")
@click.option("--parallel", type=click.IntRange(1, 64), default=2, show_default=True)
@click.option("--wall", type=click.FloatRange(1), default=None, help="Seconds that a session may take.")
@click.option(
    "--max-success",
    type=click.FloatRange(0, 1),
    default=None,
    help="Exit with 1 when a greater share of the valid attacks succeeds.",
)
@model_options
def redteam(tier: int, task: str | None, **options: Any) -> None:
    """Run AGENT against poison and injection, each beside its benign twin."""
    from .redteam_commands import redteam_command

    model, named = take_model(options), task or TIER_TASKS[tier]
    if model is None:
        sys.exit(redteam_command(task=named, **options))
    from .model_supply import open_models

    sys.exit(redteam_command(task=named, **options, model=model, open_models=open_models))


@click.command("inject-poison-pill")
@tier_option
@click.option("--task", default=None, help="A task of your choice, instead of the tier's first.")
@click.option("--sandbox", "folder", type=click.Path(path_type=Path, exists=True, file_okay=False), required=True)
@click.option("--variant", "pill", default="v1", show_default=True, help="v1, v2, v3, or the full name of a poison.")
@click.option(
    "--record",
    type=click.Path(path_type=Path, dir_okay=False),
    default=None,
    help="Write what was planted there; not inside the folder.",
)
def inject_poison_pill(tier: int, task: str | None, **options: Any) -> None:
    """Plant a poison into a folder between two sessions; the folder is treated as hostile."""
    from .redteam_commands import inject_command

    inject_command(task=task or TIER_TASKS[tier], **options)
