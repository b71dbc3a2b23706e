"""run.json as it is read: what froze a run. docs/schemas/run.json is its JSON Schema.

`Plan.identity` makes it; a field that is added there is added here, with a default if earlier runs are without it.
`python -m takeover.trials.identity` prints the schema.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from ..repos.schema import PredictionForm
from ..sandbox.errors import InputError
from ..sandbox.gateway.budget import Limits
from ..sandbox.gateway.settings import ErrorPolicy, Pinned
from .model import Source
from .record import read_json

_TRIAL = re.compile(r"[A-Za-z0-9@_-][A-Za-z0-9@._-]{0,250}")


def _names(values: list[str]) -> list[str]:
    # They become paths: a folder that came from somewhere must not name what lies outside of it.
    if not all(_TRIAL.fullmatch(name) for name in values):
        raise ValueError("not names of trials")
    return values


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TaskIdentity(_Part):
    """A task, its variant, and the hash over everything that it is made of."""

    id: str
    variant: int | str
    sha256: str
    codebase: bool = False


class Named(_Part):
    """An arm or an agent, and the hash over what it consists of."""

    name: str
    sha256: str


class ModelIdentity(_Part):
    """Which model answered, and within which bounds; files by their content."""

    source: Source
    upstream: str | None
    file_sha256: str | None
    pinned: Pinned
    errors: ErrorPolicy
    trial_limits: Limits
    run_limits: Limits
    prices_sha256: str | None


class SettingsIdentity(_Part):
    """What a run fixes beside its matrix."""

    cutoff: str | None = None
    wall_seconds: float | None = None
    declared_tokens: Annotated[int, Field(ge=0)] | None = None
    model: ModelIdentity | None = None


class PredictionsIdentity(_Part):
    """What somebody expected of the run, and the hash of the file that says so."""

    sha256: str
    predictions: list[PredictionForm]


class RunIdentity(_Part):
    """What was run, hashed: a changed source, setting or image is another run."""

    schema_version: Literal[1]
    toolkit: str
    toolkit_sha256: str
    guest_sha256: str
    tasks: list[TaskIdentity]
    arms: list[Named]
    agents: list[Named]
    images: dict[str, str]
    trials: Annotated[list[str], AfterValidator(_names)]
    settings: SettingsIdentity
    predictions: PredictionsIdentity | None = None


def parse_identity(data: object, name: str) -> RunIdentity:
    """An identity from its JSON; InputError with the field that is wrong. `name` is the file, for the message."""
    try:
        return RunIdentity.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"])) or "document"
        why = first["msg"].removeprefix("Value error, ")
        raise InputError(f"{name}: {where}: {why}", hint="It is not a run of this version.") from None


def read_identity(path: Path) -> RunIdentity:
    """The identity of a run; InputError with file and field if it is not one of this version."""
    data = read_json(path)
    if isinstance(data, dict) and data.get("kind") == "redteam":
        raise InputError(
            f"{path}: a run of the red team, whose results are in its redteam.json",
            hint="`takeover redteam` with the same --run-id goes on with it.",
        )
    return parse_identity(data, str(path))


def schema_bytes() -> bytes:
    """The JSON Schema of run.json as docs/schemas holds it."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **RunIdentity.model_json_schema()}
    return (json.dumps(schema, ensure_ascii=True, sort_keys=True, indent=2) + "\n").encode("ascii")


if __name__ == "__main__":
    sys.stdout.buffer.write(schema_bytes())
