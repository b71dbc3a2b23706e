"""What all requests of one session share."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .account import Account
from .attempt import Attempt
from .budget import Budget
from .calllog import CallLog
from .prices import PriceTable
from .redaction import Redactor
from .scribe import Scribe
from .settings import Settings
from .upstream import Upstream


@dataclass
class House:
    """The session's upstream, its rules and its books."""

    upstream: Upstream
    settings: Settings
    budget: Budget
    account: Account
    log: CallLog
    redactor: Redactor
    prices: PriceTable
    scribe: Scribe | None = None
    clock: Callable[[], float] = time.monotonic
    jitter: random.Random = field(default_factory=random.Random)
    # Whether a Chat stream may be asked for its usage; some servers refuse the question.
    asks_usage: bool = True
    _attempts: dict[int, Attempt] = field(default_factory=dict)
    _lock: Any = field(default_factory=threading.Lock)

    def opened(self, attempt: Attempt) -> None:
        """An answer is under way."""
        with self._lock:
            self._attempts[id(attempt)] = attempt

    def closed(self, attempt: Attempt) -> None:
        """It is over."""
        with self._lock:
            self._attempts.pop(id(attempt), None)

    def abort_all(self) -> None:
        """Break off every answer that is under way."""
        with self._lock:
            attempts = list(self._attempts.values())
        for attempt in attempts:
            attempt.abort()
