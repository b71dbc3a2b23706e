"""The command line: parse, call, render, exit code."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import click

from . import __version__
from .sandbox.errors import InputError, MachineryError, TakeoverError
from .trials.cli_gate import app_map, gate
from .trials.cli_model import model_options, take_model
from .trials.cli_poison import TIER_TASKS, inject_poison_pill, poison_option, redteam
from .trials.cli_repos import repos
from .trials.cli_transcripts import import_transcripts, transcript

DONE, FELL_SHORT, USAGE, MACHINERY = 0, 1, 2, 3


class Main(click.Group):
    """Turns the toolkit's exceptions into one or two lines and an exit code."""

    def main(self, *args: Any, **kwargs: Any) -> NoReturn:
        try:
            super().main(*args, **{**kwargs, "standalone_mode": False})
            code = DONE
        except click.exceptions.Exit as ended:
            code = ended.exit_code
        except click.exceptions.NoArgsIsHelpError as error:
            error.show()
            code = USAGE
        except click.ClickException as error:
            context = error.ctx if isinstance(error, click.UsageError) else None
            _complain(error.format_message(), f"See `{context.command_path if context else 'takeover'} --help`.")
            code = USAGE
        except (click.exceptions.Abort, KeyboardInterrupt):
            _complain("interrupted", "What was recorded is kept; `--resume` with the same --run-id goes on.")
            code = 128 + signal.SIGINT
        except InputError as error:
            _complain(str(error), error.hint)
            code = USAGE
        except MachineryError as error:
            _complain(str(error), error.hint)
            code = MACHINERY
        except TakeoverError as error:
            _complain(str(error), error.hint)
            code = MACHINERY
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = 128 + signal.SIGPIPE
        sys.exit(code)


def _complain(message: str, hint: str | None) -> None:
    click.echo(f"takeover: {message}", err=True)
    if hint:
        click.echo(f"  {hint}", err=True)


@click.group(cls=Main, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="takeover")
def main() -> None:
    """Grade what survives when one agent's session ends and another takes over.

    Exit codes: 0 done and every gate held, 1 a gate fell short, 2 usage, 3 the machinery failed.
    """
    signal.signal(signal.SIGTERM, _interrupt)


def _interrupt(_number: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt


_runs = click.option(
    "--runs",
    "runs",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("runs"),
    show_default=True,
    help="Folder that holds the runs.",
)
_variant = click.option(
    "--variant",
    default="0",
    show_default=True,
    metavar="SEED",
    help="0 is the published task; any other seed gives the same task with other values.",
)


def _choice(function: Callable[..., None]) -> Callable[..., None]:
    """Which variant of a task: a seed, or the bugs of a codebase."""
    for option in (
        click.option(
            "--hints",
            type=click.Choice(["none", "areas", "specifications"]),
            default=None,
            help="How much of a codebase's bugs the prompt gives away  [default: none]",
        ),
        click.option(
            "--bugs",
            default=None,
            metavar="SEL",
            help="Bugs of a codebase: canonical, all, ids or area:NAME, joined by commas  [default: canonical]",
        ),
        _variant,
    ):
        function = option(function)
    return function


_tier = click.option("--tier", type=int, default=None, help="Tier of the task.")
_task = click.option("--task", default=None, metavar="TASK", help="The task by its name or folder, instead of a tier.")


def _run_options(function: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(
        (
            _runs,
            click.option(
                "--run-id", default=None, help="Name of the run's folder [default: time and a random suffix]."
            ),
            click.option(
                "--resume", is_flag=True, help="Go on with a run of the same identity; recorded trials are kept."
            ),
            click.option(
                "--retry-machinery",
                is_flag=True,
                help="With --resume: run trials again whose machinery failed; the failed attempt is kept beside them.",
            ),
            click.option(
                "--repeat", type=click.IntRange(1), default=1, show_default=True, help="Repetitions of each trial."
            ),
            click.option(
                "--parallel", type=click.IntRange(1, 64), default=2, show_default=True, help="Trials side by side."
            ),
            click.option(
                "--min-net", type=click.IntRange(0), default=None, help="Exit with 1 when a trial's net is lower."
            ),
            click.option(
                "--tokens", type=click.IntRange(1), default=None, help="Tokens a trial took, as you declare them."
            ),
        )
    ):
        function = option(function)
    return function


@main.command()
@click.argument("tasks", nargs=-1, required=True, metavar="TASK...")
@click.option("--arm", "arms", multiple=True, help="Arm by name, or `all`; repeatable.")
@click.option(
    "--agent",
    "agents",
    multiple=True,
    required=True,
    metavar="IMAGE|NAME",
    help="Agent image or scripted agent; repeatable.",
)
@click.option(
    "--receiver",
    "receivers",
    multiple=True,
    metavar="IMAGE|NAME",
    help="Agent that takes over after the first session [default: the same]; repeatable.",
)
@click.option(
    "--arm-file",
    "arm_files",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Folder with an arm of your own; repeatable.",
)
@click.option(
    "--cutoff", default=None, help="Replace the script's cutoff rule: first-edit, edits:N, seconds:N, none, ..."
)
@click.option(
    "--cutoff-sweep",
    type=click.IntRange(1, 999),
    default=None,
    metavar="N",
    help="Run each trial N times, cut at its 1st, 2nd, ... N-th edit, and give the curve.",
)
@click.option("--wall", type=click.FloatRange(1), default=None, help="Seconds that a session may take.")
@poison_option
@click.option(
    "--predict",
    type=click.Path(path_type=Path, dir_okay=False),
    default=None,
    help="What you expect of it, frozen before it starts; the table sets it beside what came.",
)
@model_options
@_choice
@_run_options
def run(**options: Any) -> None:
    """Run TASK with each arm and agent, and grade it."""
    from .trials.commands import run_command

    model = take_model(options)
    if model is None:
        sys.exit(run_command(**options))
    from .trials.model_supply import open_models

    sys.exit(run_command(**options, model=model, open_models=open_models))


@main.command()
@_run_options
def demo(**options: Any) -> None:
    """The main job: note-taker and amnesiac on Tier 2 in the three public arms."""
    from .trials.commands import run_command

    sys.exit(
        run_command(
            tasks=("tier2_fintech",),
            arms=("Vanilla", "AGENTS_MD_Only", "State_MD_Only"),
            agents=("note-taker", "amnesiac"),
            arm_files=(),
            cutoff=None,
            wall=None,
            variant="0",
            **options,
        )
    )


@main.command()
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "markdown", "json", "html"]),
    default="table",
    show_default=True,
    help="In html every cell opens: the disk at the cutoff, the notes, the diff.",
)
@_runs
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), default=None, help="Write it there.")
def leaderboard(form: str, runs: Path, out: Path | None) -> None:
    """The recorded results of the field beside those of the runs in a folder."""
    from .trials.leaderboard import leaderboard_command

    sys.exit(leaderboard_command(form, runs, out))


@main.command()
@click.argument("target", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--task", default=None, help="TARGET is a workspace of this task, not a run.")
@click.option(
    "--task-folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    default=None,
    help="TARGET is a run of this task, which is none of the toolkit's own.",
)
@click.option("--arm", default="Vanilla", show_default=True, help="The arm that the workspace began with.")
@click.option("--tokens", type=click.IntRange(1), default=None, help="Tokens the work took, as you declare them.")
@click.option(
    "--json-out", type=click.Path(path_type=Path, dir_okay=False), default=None, help="Write the scorecard there."
)
@click.option("--min-net", type=click.IntRange(0), default=None, help="Exit with 1 when net is lower.")
@_choice
def grade(target: Path, task: str | None, task_folder: Path | None, **options: Any) -> None:
    """Grade a run's folder again, or a workspace DIR somebody's agent worked in."""
    from .trials.commands import grade_workspace_command, regrade_command

    # With --task it is a workspace, whatever an agent may have left in it.
    if task is not None:
        sys.exit(grade_workspace_command(target, task=task, **options))
    if not (target / "run.json").is_file():
        raise click.UsageError(f"{target} is not a run's folder (no run.json): name the task with --task")
    sys.exit(regrade_command(target, min_net=options["min_net"], task_folder=task_folder))


@main.command("tasks")
@click.argument("task", required=False)
@_choice
def tasks_command(task: str | None, **choice: Any) -> None:
    """List the tasks, or show one."""
    from .trials.commands import show_tasks

    show_tasks(task, **choice)


@main.command()
@click.argument("checks", nargs=-1)
@click.option("--image", default="sandbox", show_default=True, help="Image to try.")
@click.option("--list", "listing", is_flag=True, help="Say what is checked and do nothing.")
def doctor(checks: tuple[str, ...], image: str, listing: bool) -> None:
    """Try everything the sandbox promises on the engine in use, or only CHECKS (a name, or a group)."""
    from .trials.engine_commands import doctor_command

    sys.exit(doctor_command(image, checks, listing=listing))


@main.command()
@click.option("--images", is_flag=True, help="Remove outdated images of the toolkit as well, and say what that freed.")
def gc(images: bool) -> None:
    """Remove containers that dead runs have left."""
    from .trials.engine_commands import gc_command

    sys.exit(gc_command(images=images))


def _tier_task(tier: int | None, task: str | None) -> str:
    if (tier is None) == (task is None):
        raise click.UsageError("name the task: either --tier or --task")
    if task is not None:
        return task
    try:
        return TIER_TASKS[tier or 0]
    except KeyError:
        raise click.UsageError(f"--tier {tier}: there is {', '.join(map(str, sorted(TIER_TASKS)))}") from None


@main.command("scaffold-sandbox")
@_tier
@_task
@click.option("--arm", default="Vanilla", show_default=True)
@click.option(
    "--dest", type=click.Path(path_type=Path), required=True, help="Folder to make; it must not hold anything."
)
@_choice
def scaffold_sandbox(tier: int | None, task: str | None, arm: str, dest: Path, **choice: Any) -> None:
    """Write a task's starting workspace to a folder, and its prompts beside it."""
    from .trials.commands import scaffold_command

    scaffold_command(_tier_task(tier, task), arm, dest, **choice)


@main.command("evaluate-sandbox")
@_tier
@_task
@click.option(
    "--sandbox",
    "target",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    required=True,
    help="Folder an agent worked in; treated as hostile.",
)
@click.option("--arm", default="Vanilla", show_default=True, help="The arm it was scaffolded with.")
@click.option("--tokens", type=click.IntRange(1), default=None, help="Tokens the work took, as you declare them.")
@click.option("--json-out", type=click.Path(path_type=Path, dir_okay=False), default=None)
@click.option("--min-net", type=click.IntRange(0), default=None, help="Exit with 1 when net is lower.")
@_choice
def evaluate_sandbox(tier: int | None, task: str | None, target: Path, **options: Any) -> None:
    """Grade a folder that somebody's own agent worked in."""
    from .trials.commands import grade_workspace_command

    sys.exit(grade_workspace_command(target, task=_tier_task(tier, task), **options))


for command in (app_map, gate, import_transcripts, inject_poison_pill, redteam, repos, transcript):
    main.add_command(command)

if __name__ == "__main__":
    main()
