"""The commands that satellites know, and how dangerous each is."""

from __future__ import annotations

from typing import Dict, List

HAZARDS: Dict[str, int] = {
    "routine": 0,
    "guarded": 1,
    "hazardous": 2,
    "irreversible": 3,
}

COMMANDS: Dict[str, str] = {
    "ping": "routine",
    "dump_log": "routine",
    "set_clock": "guarded",
    "load_schedule": "guarded",
    "fire_thruster": "hazardous",
    "reset_radio": "hazardous",
    "deploy_boom": "irreversible",
    "wipe_memory": "irreversible",
}


class UnknownCommand(KeyError):
    """No satellite knows this command."""


def hazard(command: str) -> str:
    """How dangerous a command is, in a word."""
    if command not in COMMANDS:
        raise UnknownCommand(command)
    return COMMANDS[command]


def level(command: str) -> int:
    """How dangerous a command is; higher is worse."""
    return HAZARDS[hazard(command)]


def commands_of(name: str) -> List[str]:
    """All commands of one hazard, by name."""
    return sorted(command for command, its_hazard in COMMANDS.items() if its_hazard == name)
