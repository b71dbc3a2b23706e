"""Who works in a session: the scripted agents that prove the grader, or any image."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..sandbox.errors import InputError
from ..sandbox.gateway.volatile import COMMON, Volatile, declared
from ..sandbox.sandbox import ImageInfo
from ..sandbox.session import AgentSpec
from ..sandbox.transcript.building import validation_text
from ..sandbox.transcript.reading import Caps, parse_json
from ..tiers.trialtask import TrialTask
from .scripted import SCRIPTED_ROLES, scripted

SANDBOX_IMAGE = "sandbox"
LABEL: Final = "takeover.recipe"
_LABEL_LIMIT: Final = 32 * 1024
_LABEL_CAPS: Final = Caps(parts=1000, depth=8)
_MAX_PATTERN: Final = 300
# Patterns of strangers run on the trusted side: what may take exponential time is refused.
_REPEATED_GROUP: Final = re.compile(r"(?<!\\)(?:\\\\)*\)[*+{]")
_BACK_REFERENCE: Final = re.compile(r"\\[1-9]|\(\?P=|\(\?\(")
# With this flag a space or a comment may stand between a group and what repeats it.
_VERBOSE: Final = re.compile(r"\(\?[A-Za-z]*x")
# Each repeat multiplies the time by the length of the text once more.
_MAX_REPEATS: Final = 2
_MAX_PATTERNS: Final = 50
_ATOM: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_REPEAT: Final = re.compile(r"[*+]|\{\d*,\}|\{[\d,]*\d{3}[\d,]*\}")


@dataclass(frozen=True, slots=True)
class Recipe:
    """What an image says of its agent; all of it has a default, for any image may be an agent.

    `turns` says which model calls are turns, `volatile` what of its requests may differ between two runs.
    """

    version: str = ""
    formats: tuple[str, ...] = ()
    model: str = "takeover-model"
    turns: Literal["tools", "all"] = "tools"
    volatile: Volatile = COMMON


_Word = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+/:@-]{0,127}$")]


class _Label(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    schema_version: Literal[1]
    version: _Word
    formats: Annotated[list[Literal["chat", "responses", "messages", "gemini"]], Field(min_length=1, max_length=4)]
    model: _Word = "takeover-model"
    turns: Literal["tools", "all"] = "tools"
    volatile: dict[str, Any] = {}


def recipe_of(image: ImageInfo) -> Recipe:
    """What the image's label says, the defaults where it has none; InputError for a label that cannot be."""
    text = image.labels.get(LABEL)
    if text is None:
        return Recipe()
    place = f"image {image.ref!r}: label {LABEL}"
    if len(text) > _LABEL_LIMIT:
        raise InputError(f"{place}: is longer than {_LABEL_LIMIT:,} characters; declare less")
    return read_recipe(parse_json(text, place, _LABEL_CAPS), place)


def read_recipe(value: object, place: str) -> Recipe:
    """A recipe as recipe.yaml or the label holds it; InputError naming place and field."""
    try:
        label = _Label.model_validate(value)
    except ValidationError as error:
        raise InputError(f"{place}: {validation_text(error)}") from None
    own = declared(label.volatile, f"{place}: $.volatile")
    if len(own.patterns) > _MAX_PATTERNS:
        raise InputError(f"{place}: $.volatile: patterns: more than {_MAX_PATTERNS}")
    for number, pattern in enumerate(own.patterns):
        if _may_be_slow(pattern):
            raise InputError(
                f"{place}: $.volatile: patterns[{number}]: repeats a group, refers to one, repeats too often, or is too long",
                hint=f"Write it without, in at most {_MAX_PATTERN} characters with {_MAX_REPEATS} repeats.",
            )
    return Recipe(
        version=label.version,
        formats=tuple(label.formats),
        model=label.model,
        turns=label.turns,
        volatile=COMMON + own,
    )


def _may_be_slow(pattern: str) -> bool:
    if len(pattern) > _MAX_PATTERN:
        return True
    repeats = len(_REPEAT.findall(_ATOM.sub("a", pattern)))
    return repeats > _MAX_REPEATS or any(one.search(pattern) for one in (_REPEATED_GROUP, _BACK_REFERENCE, _VERBOSE))


@dataclass(frozen=True, slots=True)
class Agent:
    """A named agent. `role` is set for scripted ones, whose files depend on the task."""

    name: str
    image: str
    role: str | None = None
    command: tuple[str, ...] | None = None
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def sha256(self) -> str:
        """What identifies the agent beside its image: command, environment, role."""
        identity = {"image": self.image, "role": self.role, "command": self.command, "env": dict(self.env)}
        return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()

    def spec(self, task: TrialTask) -> AgentSpec:
        """What a sandbox needs to run it on this task."""
        if self.role is None:
            return AgentSpec(name=self.name, image=self.image, command=self.command, env=dict(self.env), home_files={})
        command, home_files = scripted(task, self.role)
        return AgentSpec(name=self.name, image=self.image, command=command, env=dict(self.env), home_files=home_files)


def resolve_agent(reference: str, env: Mapping[str, str] | None = None) -> Agent:
    """A scripted role by its name, otherwise an image (a recipe's name or any image reference)."""
    if reference in SCRIPTED_ROLES:
        return Agent(name=reference, image=SANDBOX_IMAGE, role=reference, env=env or {})
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._/:@-]*", reference):
        raise InputError(
            f"--agent {reference!r}: neither an image reference nor one of {', '.join(sorted(SCRIPTED_ROLES))}"
        )
    return Agent(name=re.sub(r"[^A-Za-z0-9_-]+", "-", reference.rpartition("/")[2]), image=reference, env=env or {})
