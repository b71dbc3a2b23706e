"""The gateway of one session: HTTP requests of its agent in, responses out, everything on the books.

One thread for each request. What ends the session from here (a cutoff rule that falls, a model that is gone, a request
that the cassette does not know) is told once through a callback, and from then on every request gets a 404.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from ..cutoff import CutoffRule
from ..errors import MachineryError
from ..sandbox import WORKSPACE
from ..transcript.model import Agent
from ..transcript.writer import TranscriptWriter
from .account import Account, Finding, Totals
from .asking import Asking, understand
from .budget import Budget, Spent, unlimited
from .calllog import CallLog
from .exchange import Gone, HttpRequest, ResponsePart
from .forward import Forward
from .house import House
from .jsontext import NotJson
from .listing import listing
from .prices import PriceTable, built_in
from .redaction import Redactor
from .refusal import Refusal
from .routes import Operation, Route, find_route
from .scribe import Scribe
from .settings import Settings
from .trigger import Fired, Trigger
from .upstream import ModelUnavailable, NoKey, Upstream

_MOMENT: Final = 1.0
_POLL: Final = 0.2
# More than it takes to give up a connection that is being made.
_CLOSING_SECONDS: Final = 15.0


@dataclass(frozen=True, slots=True)
class Files:
    """Where a session is written down; None leaves a file out. Neither may exist yet."""

    transcript: Path | None = None
    calls: Path | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """What a session's calls amounted to. `spent` is what they took from the budgets."""

    totals: Totals
    spent: Spent
    findings: tuple[Finding, ...]
    fired: Fired | None
    failure: MachineryError | None
    prices: str

    @property
    def tokens(self) -> int | None:
        """All tokens of the answers that the agent got; None where those of one are not known."""
        return None if self.totals.unmetered else self.totals.counted.total

    def to_json(self) -> dict[str, Any]:
        """Plain data for the session's folder; nothing in it varies when a cassette is played again but seconds."""
        return {
            "tokens": self.tokens,
            "totals": self.totals.to_json(),
            "spent": self.spent.to_json(),
            "findings": [[one.kind, one.detail, one.count] for one in self.findings],
            "cutoff": None if self.fired is None else self.fired.rule,
            "failure": None if self.failure is None else str(self.failure),
            "prices": self.prices,
        }


class Gateway:
    """Answers the requests of one session; use it as a context manager, or call `close`.

    `on_cutoff` and `on_failure` are called in the thread of the request that they befall, once, before its response.
    """

    def __init__(
        self,
        upstream: Upstream,
        settings: Settings | None = None,
        *,
        files: Files | None = None,
        agent: Agent | None = None,
        session_id: str | None = None,
        budget: Budget | None = None,
        prices: PriceTable | None = None,
        redactor: Redactor | None = None,
        rule: CutoffRule | None = None,
        on_cutoff: Callable[[Fired], None] = lambda fired: None,  # noqa: ARG005
        on_failure: Callable[[MachineryError], None] = lambda failure: None,  # noqa: ARG005
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        settings, files, redactor = settings or Settings(), files or Files(), redactor or Redactor()
        within = budget or unlimited("run")
        self._house = House(
            upstream=upstream,
            settings=settings,
            # A part of its own, so that what this session spent can be told.
            budget=Budget(within.name, unlimited().limits, within=within),
            account=Account(),
            log=CallLog(files.calls, redactor),
            redactor=redactor,
            prices=prices or built_in(),
            clock=clock,
        )
        if files.transcript is not None:
            who = agent or Agent(name="unknown", version="unknown", model_name=settings.pinned.model)
            # Agents name files by their whole path as often as not: a reader is to know what they are relative to.
            extra = {"cwd": WORKSPACE}
            writer = TranscriptWriter(files.transcript, agent=who, session_id=session_id, extra=extra)
            self._house.scribe = Scribe(writer, redactor)
        self._trigger = Trigger(rule)
        self._on_cutoff = on_cutoff
        self._on_failure = on_failure
        self._stop: Callable[[str], None] = lambda why: None  # noqa: ARG005
        self._fired: Fired | None = None
        self._failure: MachineryError | None = None
        self._closing = False
        self._live = 0
        self._turns = 0  # under way
        self._changed = threading.Condition()

    @property
    def failure(self) -> MachineryError | None:
        """Why the session cannot go on, if so: the trial is a failure of the machinery."""
        return self._failure

    @property
    def fired(self) -> Fired | None:
        """The cutoff rule of its own that has fallen, if so."""
        return self._fired

    @property
    def _is_over(self) -> bool:
        return self._failure is not None or self._fired is not None or self._closing

    def attend(self, stop: Callable[[str], None]) -> None:
        """The session begins: `stop` ends its agent, beside what the two callbacks do."""
        self._stop = stop

    def arm(self) -> None:
        """What the cutoff rule waited for has happened: it counts from now on."""
        self._trigger.arm(self._house.account.totals)

    def handle(self, request: HttpRequest, gone: Gone | None = None) -> Iterator[ResponsePart]:
        """The response to a request, as it comes. Set `gone`, or close the iterator, when the agent hangs up."""
        route = find_route(request)
        if isinstance(route, Refusal):
            yield from route.parts(head=request.method == "HEAD")
            return
        with self._changed:
            self._live += 1
        try:
            yield from self._serve(request, route, gone or Gone())
        finally:
            with self._changed:
                self._live -= 1
                self._changed.notify_all()

    def close(self) -> Report:
        """The session is over: wait a moment for answers under way, so that their usage is known; then finish."""
        self._closing = True
        # What is played does not take its time.
        self._wait(_MOMENT + (self._house.settings.drain if self._house.upstream.paced else 0.0))
        self._house.abort_all()
        self._house.upstream.end()
        for _ in range(self._wait(_CLOSING_SECONDS)):
            # Asked, and nothing came yet: it may be billed, and no one will know for what.
            self._house.account.failed(None, billed=True, by_provider=False)
        self._house.upstream.close()
        report = self.report()
        if self._house.scribe is not None:
            self._house.scribe.note(gateway=report.to_json())
            self._house.scribe.close()
        self._house.log.close()
        return report

    def report(self) -> Report:
        """What the calls amounted to so far."""
        account, prices = self._house.account, self._house.prices
        spent = self._house.budget.spent
        return Report(account.totals, spent, account.findings, self._fired, self._failure, prices.version)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _wait(self, seconds: float) -> int:
        """Wait for the requests under way; how many still are."""
        with self._changed:
            self._changed.wait_for(lambda: self._live == 0, seconds)
            return self._live

    def _serve(self, request: HttpRequest, route: Route, gone: Gone) -> Iterator[ResponsePart]:
        forward: Forward | None = None
        is_turn = False
        try:
            asking = understand(request, route, self._house.settings)
            refusal = self._judge(asking)
            if refusal is None and asking.is_turn:
                refusal = self._cut(asking, gone)
                is_turn = refusal is None
            if refusal is not None:
                yield from refusal.parts()
                return
            listed = listing(route, self._house.settings) if route.operation is Operation.MODELS else None
            if listed is not None:
                yield from listed
                return
            forward = Forward(self._house, asking, gone)
            yield from forward.parts()
        except NotJson as e:
            yield from Refusal(route.provider, 400, f"The body cannot be read: {e}.").parts()
        except MachineryError as e:
            if isinstance(e, NoKey) and self._house.account.totals.answers:
                # It has a model. Were this ours, an agent could take itself out of the denominator when it likes.
                self._house.account.find("no_key", f"the agent asked {route.provider}, for which there is no key")
                yield from Refusal(route.provider, 404, "The model is not available.").parts()
                return
            self._fail(e)
            if forward is not None and forward.started:
                yield ResponsePart(cut=True)
            else:
                yield from _over(route).parts()
        finally:
            with self._changed:
                self._turns -= is_turn
                self._changed.notify_all()

    def _judge(self, asking: Asking) -> Refusal | None:
        """Whether the rules of the run allow the request, and what of it is to be noted."""
        account, settings, provider = self._house.account, self._house.settings, asking.route.provider
        if account.failures_in_a_row >= settings.retries.give_up:
            self._fail(ModelUnavailable(f"{account.failures_in_a_row} attempts in a row had no answer"))
        if self._is_over:
            return _over(asking.route)
        for change in asking.changes:
            account.find(change.kind, change.detail)
        if settings.pinned.policy == "strict" and any(change.kind == "model" for change in asking.changes):
            return Refusal(provider, 404, f"The model {asking.wanted} is not available.")
        for name, kept in asking.dialect.foreign(asking.document):
            # A thread that the provider keeps would carry the memory of one session into the next.
            if not account.issued(kept):
                account.find("foreign_state", f"{name} {kept}")
                return Refusal(provider, 404, f"There is no {name} {kept!r}."[:300])
        for tool in asking.tools:
            if tool.server:
                account.find("server_tool", tool.name)
        return None

    def _cut(self, asking: Asking, gone: Gone) -> Refusal | None:
        """None if the turn may begin. One that could be too many waits for those under way, and is then the one or none."""
        self._house.account.asked()
        with self._changed:
            while self._trigger.waits(self._house.account.totals, self._turns) and not (self._is_over or gone.is_set()):
                self._changed.wait(_POLL)
            if self._is_over or gone.is_set():
                return _over(asking.route)
            fired = self._fired = self._trigger.due(self._house.account.totals)
            if fired is None:
                self._turns += 1
                return None
        self._on_cutoff(fired)
        self._stop(f"cutoff {fired.rule}")
        return _over(asking.route)

    def _fail(self, failure: MachineryError) -> None:
        with self._changed:
            first = self._failure is None
            if first:
                self._failure = failure
        if first:
            self._on_failure(failure)
            self._stop("the model failed")


def _over(route: Route) -> Refusal:
    return Refusal(route.provider, 404, "This session is over.")
