"""One frozen table: what follows from each way a trial can end without a verdict.

Retry, grading and the totals of a run all read this table and nothing else,
so a failure of the machinery can never count as a failure of the agent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from ..sandbox.errors import FailureClass

Side = Literal["agent", "machinery", "poison"]


@dataclass(frozen=True, slots=True)
class Policy:
    """`retry`: may be tried once more. `grade`: what is on disk is graded. `counts`: stays in the denominator."""

    side: Side
    retry: bool
    grade: bool
    counts: bool


_MACHINERY_ONCE_MORE = Policy(side="machinery", retry=True, grade=False, counts=False)
_MACHINERY_FINAL = Policy(side="machinery", retry=False, grade=False, counts=False)
# The memory of a sandbox and the room of a workspace are used up by the agent alone: were this a failure
# of the machinery, an agent could take itself out of the denominator.
_AGENT_RESULT = Policy(side="agent", retry=False, grade=False, counts=True)
# Nobody failed: the workspace had no place for what was to be planted, and trying again finds none either.
_NO_PLACE = Policy(side="poison", retry=False, grade=False, counts=False)

FAILURES: Mapping[FailureClass, Policy] = MappingProxyType(
    {
        FailureClass.ENGINE_UNAVAILABLE: _MACHINERY_FINAL,
        FailureClass.IMAGE_UNFIT: _MACHINERY_FINAL,
        FailureClass.SANDBOX_DIED: _MACHINERY_ONCE_MORE,
        FailureClass.SANDBOX_OOM: _AGENT_RESULT,
        FailureClass.WORKSPACE_TOO_LARGE: _AGENT_RESULT,
        FailureClass.WIRE_BROKEN: _MACHINERY_ONCE_MORE,
        FailureClass.WIRE_TIMEOUT: _MACHINERY_ONCE_MORE,
        FailureClass.STORAGE: _MACHINERY_FINAL,
        FailureClass.CHECKS_BROKEN: _MACHINERY_FINAL,
        FailureClass.MODEL_UNAVAILABLE: _MACHINERY_ONCE_MORE,
        # The same cassette knows no more of it the next time.
        FailureClass.UNKNOWN_REQUEST: _MACHINERY_FINAL,
        # Shared by all trials: the one that finds it used up is not the one that used it.
        FailureClass.RUN_BUDGET: _MACHINERY_FINAL,
        FailureClass.POISON_REFUSED: _NO_PLACE,
        FailureClass.INTERNAL: _MACHINERY_FINAL,
    }
)
