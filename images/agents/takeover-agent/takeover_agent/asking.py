"""What all wire formats share: what is said to the model first, and which failures are worth another try."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import anthropic
import httpx2
import openai

from .loop import ModelGone

SYSTEM = (
    "You are a coding agent in a git repository, which is your working directory. "
    "Look around before you edit: others may have worked here before you and left notes. "
    "Work with the tools, in small steps, and run what you changed. Nobody can answer questions. "
    "When the work is done, call finish."
)
# The packages themselves try a request again that was refused for now; this is for answers that broke off.
TRIES = 3
T = TypeVar("T")


class BrokenAnswer(Exception):
    """An answer that is not whole: none of its calls may be carried out."""


def asked(ask: Callable[[], T]) -> T:
    """What `ask` gets. Raises ModelGone; 404 is how the gateway says that the budget is spent."""
    for attempt in range(1, TRIES + 1):
        try:
            return ask()
        except (openai.NotFoundError, anthropic.NotFoundError) as error:
            raise ModelGone(f"no further calls (404): {error}") from error
        except (openai.APIError, anthropic.APIError, httpx2.TransportError, BrokenAnswer) as error:
            status = getattr(error, "status_code", 0)
            if status >= 400:  # an error in mid-stream has the stream's status, 200, or none
                raise ModelGone(f"the provider refuses ({status}): {error}") from error
            if attempt == TRIES:
                raise ModelGone(f"no whole answer in {TRIES} tries: {str(error) or type(error).__name__}") from error
    raise AssertionError("unreachable")
