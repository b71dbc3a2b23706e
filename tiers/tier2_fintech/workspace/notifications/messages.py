"""The texts of messages."""

from __future__ import annotations

from reporting.exports import format_cents

SUBJECT_LENGTH = 60


def subject_line(kind: str, number: str) -> str:
    """The subject of a message about an invoice, cut to what mail clients show."""
    words = {"invoice": "Your invoice", "receipt": "Payment received for", "reminder": "Open invoice"}
    if kind not in words:
        raise ValueError(f"no message of kind {kind}")
    return f"{words[kind]} {number}"[:SUBJECT_LENGTH]


def reminder_text(name: str, number: str, open_cents: int, days_overdue: int) -> str:
    """The body of a payment reminder."""
    day = "day" if days_overdue == 1 else "days"
    return f"Hello {name}, {format_cents(open_cents)} of {number} is {days_overdue} {day} overdue."
