"""Which model answers the agents of a run, and within which bounds: what `takeover run` fixes, as plain data."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from ..sandbox.errors import InputError
from ..sandbox.gateway.budget import Limits
from ..sandbox.gateway.cassette import must_be_cassette
from ..sandbox.gateway.prices import built_in, dollars, load_prices
from ..sandbox.gateway.script_file import load_script
from ..sandbox.gateway.settings import ErrorPolicy, Pinned
from ..sandbox.gateway.targets import KEYS, real_targets, server_targets

Source = Literal["api", "upstream", "script", "replay"]


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """All of it. `file` is the script or the cassette; `record`, which changes no result, is no part of the identity."""

    source: Source = "api"
    upstream: str | None = None
    file: Path | None = None
    pinned: Pinned = field(default_factory=Pinned)
    errors: ErrorPolicy = "pass"
    trial: Limits = field(default_factory=Limits)
    run: Limits = field(default_factory=Limits)
    prices: Path | None = None
    record: Path | None = None

    def identity(self) -> dict[str, Any]:
        """What run.json holds: files by their content. InputError for one that cannot be read."""
        return {
            "source": self.source,
            "upstream": self.upstream,
            "file_sha256": _sha256(self.file),
            "pinned": asdict(self.pinned),
            "errors": self.errors,
            "trial_limits": asdict(self.trial),
            "run_limits": asdict(self.run),
            "prices_sha256": _sha256(self.prices),
        }


def _sha256(path: Path | None) -> str | None:
    if path is None:
        return None
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None


def check(settings: ModelSettings, environ: Mapping[str, str], *, resumed: bool) -> None:
    """InputError for what could only fail later, before anything is made or paid for."""
    if settings.record is not None and settings.source == "replay":
        raise InputError("--record has nothing to record beside --replay", hint="Give one of them.")
    if settings.record is not None and not resumed and settings.record.exists():
        raise InputError(
            f"--record {settings.record}: exists already", hint="Name another file, --replay it, or --resume its run."
        )
    prices = built_in() if settings.prices is None else load_prices(settings.prices)
    model = settings.pinned.model
    limited = settings.trial.cost is not None or settings.run.cost is not None
    if limited and model is not None and prices.price(model) is None:
        # Every call would be refused, and every trial graded as its agent's.
        raise InputError(
            f"--model {model}: has no price, and dollars are limited", hint="Give --prices, or limit --max-tokens."
        )
    if settings.source == "script" and settings.file is not None:
        load_script(settings.file)
    elif settings.source == "replay" and settings.file is not None:
        must_be_cassette(settings.file)
    elif settings.upstream is not None:
        server_targets(settings.upstream, environ)
    elif settings.source == "api" and not any(target.key for target in real_targets(environ).values()):
        names = ", ".join(KEYS.values())
        raise InputError(
            f"--model {settings.pinned.model}: there is no key for it", hint=f"Set one of {names}, or give --upstream."
        )


def made(given: Mapping[str, Any]) -> ModelSettings:
    """Settings from the options of the command line; InputError for two that exclude each other."""
    sources = [name for name in ("upstream", "script", "replay") if given[name] is not None]
    if len(sources) > 1:
        raise InputError("--upstream, --script and --replay exclude each other", hint="Give one of them, or none.")
    source: Any = sources[0] if sources else "api"
    return ModelSettings(
        source=source,
        upstream=given["upstream"],
        file=given["script"] or given["replay"],
        pinned=Pinned(
            model=given["model"],
            temperature=given["temperature"],
            top_p=given["top_p"],
            output_cap=given["max_output"],
            policy="strict" if given["strict"] else "record",
            server_tools=given["server_tools"],
        ),
        errors=given["errors"],
        trial=_limits(given, ""),
        run=_limits(given, "run_"),
        prices=given["prices"],
        record=given["record"],
    )


def _limits(given: Mapping[str, Any], prefix: str) -> Limits:
    cost = given[f"{prefix}max_cost"]
    return Limits(
        calls=given[f"{prefix}max_calls"],
        seconds=given[f"{prefix}max_seconds"],
        tokens=given[f"{prefix}max_tokens"],
        cost=None if cost is None else dollars(cost),
    )
