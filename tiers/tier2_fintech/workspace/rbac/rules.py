"""The rank that each action needs."""

from __future__ import annotations

from typing import Dict, List, Tuple

from .roles import RANKS, rank

ACTIONS: Dict[str, int] = {
    "report.view": 1,
    "invoice.create": 2,
    "payment.allocate": 2,
    "refund.issue": 3,
    "period.close": 4,
    "role.assign": 4,
}


class UnknownAction(KeyError):
    """No action has this name."""


class AccessDenied(PermissionError):
    """The role is too weak for the action."""
#:if R5


class <<deny_error>>(ValueError):
    """There is no denial to explain: the role may do the action."""
#:end


def needed_rank(action: str) -> int:
    """The rank from which an action is allowed."""
    if action not in ACTIONS:
        raise UnknownAction(action)
    return ACTIONS[action]


def is_allowed(role: str, action: str) -> bool:
    """Whether a role may do an action."""
    return rank(role) >= needed_rank(action)


def require(role: str, action: str) -> None:
    """Refuse a role that may not do an action."""
    if not is_allowed(role, action):
        raise AccessDenied(f"{role} may not {action}")


def allowed_actions(role: str) -> List[str]:
    """Everything that a role may do, by name."""
    return sorted(action for action in ACTIONS if is_allowed(role, action))


def weakest_role(action: str) -> str:
    """The role of the lowest rank that may do an action."""
    return min((role for role in RANKS if is_allowed(role, action)), key=rank)


def matrix() -> List[Tuple[str, str]]:
    """Pairs of action and the weakest role that may do it, by action."""
    return [(action, weakest_role(action)) for action in sorted(ACTIONS)]
#:if R4


def approval_status(
    amount_cents: int, approvals: List[Tuple[str, int]], *, <<dual_kw>>: int = <<dual_window>>
) -> Dict[str, object]:
    """How far the approvals of a payout have come; each approval is a role and its age in hours."""
    needed = <<dual_many>> if amount_cents <<op_dual>> <<dual_amount>> else <<dual_few>>
    counted = sum(1 for role, age in approvals if rank(role) >= rank("<<dual_role>>") and age <<op_window>> <<dual_kw>>)
    return {"needed": needed, "<<dual_key>>": max(0, needed - counted), "<<dual_done>>": counted >= needed}
#:end
#:if R5


def denial_notice(actor: str, role: str, action: str) -> Dict[str, object]:
    """What a refused user is told; names no one in full."""
    needed = needed_rank(action)
    gap = needed - RANKS.get(role, 0)
    if gap <= 0:
        raise <<deny_error>>(f"{role} may {action}")
    kept = actor[:<<deny_keep>>] if len(actor) > <<deny_keep>> else ""
    return {
        "actor": kept + "<<deny_mask>>" * (len(actor) - len(kept)),
        "<<deny_key>>": <<deny_base>> + <<deny_step>> * gap,
        "severity": "<<deny_high>>" if gap <<op_gap>> <<deny_gap>> else "<<deny_low>>",
    }
#:end
