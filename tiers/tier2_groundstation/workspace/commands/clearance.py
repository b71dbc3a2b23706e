"""Who may send which command."""

from __future__ import annotations

from typing import Dict, List, Optional

#:if R4
from .catalog import COMMANDS, HAZARDS, level
#:else
from .catalog import COMMANDS, level
#:end

ROLES: Dict[str, int] = {
    "trainee": 0,
    "operator": 1,
    "engineer": 2,
    "director": 3,
}


class UnknownRole(KeyError):
    """No role has this name."""


class NotCleared(PermissionError):
    """The role may not send the command."""
#:if R4


class <<slip_error>>(ValueError):
    """There is no refusal to explain: the role may send the command."""
#:end


def role_rank(role: str) -> int:
    """How much a role may do; a higher rank may send all that a lower one may."""
    if role not in ROLES:
        raise UnknownRole(role)
    return ROLES[role]


def may_send(role: str, command: str) -> bool:
    """Whether a role may send a command: its rank must reach the command's level."""
    return role_rank(role) >= level(command)


def require(role: str, command: str) -> None:
    """Refuse a role that may not send a command."""
    if not may_send(role, command):
        raise NotCleared(f"{role} may not send {command}")


def allowed(role: str) -> List[str]:
    """Everything that a role may send, by name."""
    return sorted(command for command in COMMANDS if may_send(role, command))


def lowest_role(commands: List[str]) -> Optional[str]:
    """The role of the lowest rank that may send all of these; None if there is nothing to send."""
    if not commands:
        return None
    needed = max(level(command) for command in commands)
    return min((role for role in ROLES if ROLES[role] >= needed), key=role_rank)
#:if R4


def refusal_slip(role: str, command: str, second: int) -> Dict[str, object]:
    """What an operator is told who may not send a command; written here, since the plan may be down."""
    gap = level(command) - ROLES.get(role, ROLES["trainee"])
    if gap <= 0:
        raise <<slip_error>>(f"{role} may send {command}")
    day, rest = divmod(second, 86_400)
    shown = f"{day}/{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"
    return {
        "at": shown + "<<slip_mark>>",
        "<<slip_key>>": <<slip_base>> + <<slip_step>> * gap,
        "tone": "<<slip_high>>" if level(command) >= HAZARDS["<<slip_level>>"] else "<<slip_low>>",
    }
#:end
