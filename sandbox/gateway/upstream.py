"""What answers an agent's requests: a provider, a local server, a cassette, a script. One Protocol for all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from ..errors import FailureClass, MachineryError
from .exchange import Headers
from .redaction import Secret
from .routes import Form, Route
from .volatile import Volatile

# How an answer ended for which nobody waited any more.
LEFT: Final = "the agent was gone"


@dataclass(frozen=True, slots=True)
class UpstreamCall:
    """A request as it goes out. `document` is what it is matched by: the agent's request with what is pinned in it.

    `body` may differ from it by what budgets and metering need (a lower cap, usage asked for). `seconds` is how long
    the whole answer may take.
    """

    route: Route
    form: Form
    body: bytes = field(repr=False)
    document: Mapping[str, Any] = field(repr=False)
    headers: Headers = ()
    seconds: float = 600.0


class Unreached(Exception):
    """The provider could not be reached, or the answer broke off. The text says how, and holds no key.

    `sent` says whether the request may have arrived, and so may be billed.
    """

    def __init__(self, why: str, *, sent: bool = True) -> None:
        super().__init__(why)
        self.sent = sent


class ModelUnavailable(MachineryError):
    """There is no model to talk to: no key, a key that is refused, a provider that is gone, a redirect."""

    failure = FailureClass.MODEL_UNAVAILABLE


class NoKey(ModelUnavailable):
    """The agent asked a provider for which this run has no key."""


class RunBudgetSpent(MachineryError):
    """A session was refused a call because all trials of the run together had used their budget."""

    failure = FailureClass.RUN_BUDGET


class UnknownRequest(MachineryError):
    """A request that the cassette does not know. The message names the nearest one it does and the first difference."""

    failure = FailureClass.UNKNOWN_REQUEST


class Answer(Protocol):
    """An answer as it arrives. `close` it, whatever happened; `abort` may be called from another thread."""

    status: int
    headers: Headers

    def chunks(self) -> Iterator[bytes]:
        """The body as it comes. Raises Unreached when it breaks off."""

    def abort(self) -> None:
        """Make a waiting `chunks` end with Unreached."""

    def close(self) -> None:
        """Let go of the connection."""


class Upstream(Protocol):
    """Answers calls; several threads may call it. `paced` says whether waiting between attempts is of use."""

    paced: bool

    def send(self, call: UpstreamCall) -> Answer:
        """Send a call. Raises Unreached, ModelUnavailable (NoKey among them) or UnknownRequest."""

    def end(self) -> None:
        """The session is over: whoever waits in `send`, or will, gets Unreached with LEFT."""

    def close(self) -> None:
        """And nobody waits any more: let go of everything."""


class Supply(Protocol):
    """Gives each session its upstream. `scope` names the session within its run: `task.arm.agent.1/1-session`."""

    def upstream(self, scope: str, volatile: Volatile) -> Upstream:
        """The upstream of a session that begins now; `volatile` is what the agent's recipe declares."""

    def secrets(self) -> list[Secret]:
        """The keys that it holds, for a Redactor."""

    def close(self) -> None:
        """No session follows."""
