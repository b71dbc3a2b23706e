"""The options of `takeover run` that say which model answers, and within which bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from .model import ModelSettings


class _Number(click.FloatRange):
    """A number within its bounds, which nan is in all of."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """See click.ParamType.convert."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is no number.", param, ctx)
        return number


_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
_ANSWERS = ("upstream", "script", "replay")
_BOUNDS = ("calls", "seconds", "tokens", "cost")


def _options() -> list[Callable[[Any], Any]]:
    return [
        click.option(
            "--model", metavar="ID", default=None, help="Model that every call gets, whatever the agent asks."
        ),
        click.option(
            "--upstream", metavar="URL", default=None, help="Server that answers (vLLM, llama.cpp, Ollama, ...)."
        ),
        click.option("--script", type=_FILE, default=None, help="Scripted model that answers."),
        click.option("--replay", type=_FILE, default=None, help="Cassette that answers."),
        click.option(
            "--record",
            type=click.Path(path_type=Path, dir_okay=False),
            default=None,
            help="Write all answers into this cassette (compressed if it is called *.zst).",
        ),
        click.option("--temperature", type=_Number(0, 2), default=None, help="Temperature of every call."),
        click.option("--top-p", type=_Number(0, 1), default=None, help="Top-p of every call."),
        click.option("--max-output", type=click.IntRange(1), default=None, help="Cap on the tokens of an answer."),
        click.option("--strict", is_flag=True, help="Refuse calls for another model, and answers from another."),
        click.option(
            "--server-tools",
            type=click.Choice(["pass", "strip"]),
            default="pass",
            show_default=True,
            help="Tools that the provider runs: leave them in the calls or take them out.",
        ),
        click.option(
            "--errors",
            type=click.Choice(["pass", "retry", "hold"]),
            default="pass",
            show_default=True,
            help="Whose are the provider's errors: the agent's to see, or ours to try again.",
        ),
        *_bounds("", "a trial"),
        *_bounds("run-", "the run"),
        click.option("--prices", type=_FILE, default=None, help="Prices of models, instead of the built-in table."),
    ]


def _bounds(prefix: str, whose: str) -> list[Callable[[Any], Any]]:
    return [
        click.option(f"--{prefix}max-calls", type=click.IntRange(1), default=None, help=f"Model calls of {whose}."),
        click.option(
            f"--{prefix}max-seconds",
            type=_Number(0, min_open=True),
            default=None,
            help=f"Seconds that the model may take for {whose}.",
        ),
        click.option(
            f"--{prefix}max-tokens", type=click.IntRange(1), default=None, help=f"Generated tokens of {whose}."
        ),
        click.option(
            f"--{prefix}max-cost",
            type=_Number(0, min_open=True),
            default=None,
            help=f"Nominal dollars of {whose}.",
        ),
    ]


def model_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options to a command; it hands what it gets to `take_model`."""
    for option in reversed(_options()):
        function = option(function)
    return function


def take_model(options: dict[str, Any]) -> ModelSettings | None:
    """Take the options out and make settings of them; None for a run without a model."""
    names = ["model", *_ANSWERS, "record", "temperature", "top_p", "max_output", "strict", "server_tools", "errors"]
    names += ["prices", *(f"{prefix}max_{bound}" for prefix in ("", "run_") for bound in _BOUNDS)]
    given = {name: options.pop(name) for name in names}
    if all(given[name] is None for name in ("model", *_ANSWERS)):
        defaults = {"server_tools": "pass", "errors": "pass", "strict": False}
        odd = next((name for name, value in given.items() if value != defaults.get(name)), None)
        if odd is not None:
            raise click.UsageError(
                f"--{odd.replace('_', '-')}: which model answers? Give --model, --upstream, --script or --replay."
            )
        return None
    from .model import made

    return made(given)
