"""A scripted model from a YAML file.

schema_version: 1
sessions:
  - - {say: I write the notes first., write: {path: state.md, content: "# Notes\\n"}}
    - {edit: {path: ledger/rules.py, old: "x = 1", new: "x = 2"}}
  - - {read: state.md}
    - {shell: python3 -m pytest -q, usage: none}
    - {finish: Done.}
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..errors import InputError
from ..transcript.building import validation_text
from ..transcript.reading import read_bytes
from .script import Action, Edit, Finish, Read, Shell, Turn, Usage, Write
from .scripted import ScriptedSupply


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Write(_Part):
    path: str
    content: str


class _Edit(_Part):
    path: str
    old: str
    new: str


class _Usage(_Part):
    prompt: Annotated[int, Field(ge=0)]
    completion: Annotated[int, Field(ge=0)]
    cached: Annotated[int, Field(ge=0)] = 0
    reasoning: Annotated[int, Field(ge=0)] = 0


class _Turn(_Part):
    say: str = ""
    think: str = ""
    shell: str | None = None
    write: _Write | None = None
    edit: _Edit | None = None
    read: str | None = None
    finish: str | None = None
    usage: _Usage | Literal["none"] | None = None

    def turn(self) -> Turn:
        actions: list[Action] = []
        if self.read is not None:
            actions.append(Read(self.read))
        if self.write is not None:
            actions.append(Write(self.write.path, self.write.content))
        if self.edit is not None:
            actions.append(Edit(self.edit.path, self.edit.old, self.edit.new))
        if self.shell is not None:
            actions.append(Shell(self.shell))
        if self.finish is not None:
            actions.append(Finish(self.finish))
        usage = Usage(**self.usage.model_dump()) if isinstance(self.usage, _Usage) else None
        return Turn(self.say, tuple(actions), self.think, usage, self.usage != "none")


class _Script(_Part):
    schema_version: Literal[1]
    root: str = "/workspace"
    sessions: list[list[_Turn]]


def load_script(path: Path) -> ScriptedSupply:
    """A script from a YAML file: `sessions`, each a list of turns with `say` and one of each action. Raises InputError."""
    label = str(path)
    try:
        script = _Script.model_validate(yaml.safe_load(read_bytes(path, label, 16 << 20)))
    except yaml.YAMLError as e:
        raise InputError(f"{label}: is no YAML: {e}".replace("\n", " ")) from e
    except ValidationError as e:
        raise InputError(f"{label}: {validation_text(e)}") from e
    return ScriptedSupply([[turn.turn() for turn in session] for session in script.sessions], root=script.root)
