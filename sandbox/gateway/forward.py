"""One request of an agent, carried to the model and back: budget, attempts, the answer as it arrives, the books."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, Final

from ..transcript.model import Metrics
from ..transcript.report import Tally
from .asking import (
    DEFAULT_CAP,
    SMALLEST_CAP,
    Asking,
    choices,
    input_bound,
    lacks_usage,
    lowest_cap,
    matching,
    outgoing,
)
from .attempt import Attempt, begin, next_chunk, read_on
from .budget import Ask, Exhausted, Grant, unlimited
from .exchange import PART_LIMIT, Gone, ResponsePart, pieces, whole
from .house import House
from .jsontext import to_bytes
from .metering import measured
from .prices import is_release
from .refusal import Refusal
from .scribe import Entry
from .upstream import LEFT, ModelUnavailable, UpstreamCall

# How long one answer may take as a whole (seconds).
CALL_SECONDS: Final = 3600.0
# And where time is limited, so that one call does not set all of it aside.
LIMITED_CALL_SECONDS: Final = 600.0
_RETRY_AFTER_LIMIT: Final = 60.0


class Forward:
    """Carries one request; `parts` is the response. `started` says whether any of it has gone to the agent."""

    def __init__(self, house: House, asking: Asking, gone: Gone) -> None:
        self.started = False
        self._house = house
        self._asking = asking
        self._gone = gone
        self._number = house.log.number()
        self._failures: list[dict[str, Any]] = []
        self._entry: Entry | None = None
        self._asked_usage = False
        self._left_at: int | None = None
        # Counting tokens and listing models uses nothing up.
        self._budget = house.budget if asking.generates else unlimited()

    def parts(self) -> Iterator[ResponsePart]:
        """The response. Raises ModelUnavailable, UnknownRequest and StorageError."""
        house, asking = self._house, self._asking
        if asking.generates and house.scribe is not None:
            self._entry = house.scribe.asked(asking)
        tries = 0
        while True:
            grant = self._reserve()
            if isinstance(grant, Refusal):
                yield from self._own(grant)
                return
            attempt = self._begin(grant)
            denied = self._denied(attempt)
            if denied is not None:
                self._conclude(attempt, grant)
                if isinstance(denied, ModelUnavailable):
                    raise denied
                yield from self._own(denied)
                return
            if self._usage_was_refused(attempt):
                self._conclude(attempt, grant)
                continue
            tries += 1
            if house.settings.errors == "hold" and attempt.is_success:
                read_on(attempt, self._gone.is_set)
            if self._goes_on(attempt):
                yield from self._relay(attempt, grant)
                return
            attempt.ended = True
            self._conclude(attempt, grant)
            if not self._again(attempt, tries):
                if self._gone.is_set():
                    return
                raise ModelUnavailable(f"no answer after {tries} attempts; the last one: {attempt.trouble}")

    def _own(self, refusal: Refusal) -> Iterator[ResponsePart]:
        self.started = True
        yield from refusal.parts()

    def _reserve(self) -> Grant | Refusal:
        asking, house = self._asking, self._house
        provider, budget = asking.route.provider, self._budget
        count = choices(asking)
        cap = lowest_cap(asking) or DEFAULT_CAP
        fixed = token = 0
        if budget.bounds_cost:
            price = house.prices.price(asking.model)
            if price is None:
                house.account.find("price", f"{asking.model} has no price, and the budget is in dollars")
                return Refusal(provider, 404, f"The model {asking.model} is not available.")
            most = price.highest()
            fixed, token = most.input * input_bound(asking), most.output
        floor = min(cap, SMALLEST_CAP) * count
        seconds = LIMITED_CALL_SECONDS if budget.bounds_seconds else CALL_SECONDS
        found = budget.reserve(Ask(cap * count, floor, seconds, fixed, token), self._gone.is_set)
        if isinstance(found, Exhausted):
            if self._gone.is_set():
                return Refusal(provider, 404, "The agent was gone.")
            kind = "run_budget" if found.budget == "run" else "budget"
            house.account.find(kind, f"the {found.budget}'s budget of {found.kind} is used up")
            return Refusal(provider, 404, "The budget for this session is used up.")
        return found

    def _begin(self, grant: Grant) -> Attempt:
        asking, house = self._asking, self._house
        begun = house.clock()
        try:
            attempt = begin(house.upstream, self._call(grant), asking, begun, hide_usage=self._asked_usage)
        except BaseException:
            grant.release(house.clock() - begun)
            raise
        house.opened(attempt)
        self._gone.tell(lambda: self._abort_soon(attempt))
        return attempt

    def _abort_soon(self, attempt: Attempt) -> None:
        """The agent is gone: what is waited for on its behalf is waited for a moment longer."""
        self._left_at = self._house.account.turns_asked
        if not attempt.ended and attempt.answer is not None:
            timer = threading.Timer(self._house.settings.drain, attempt.abort)
            timer.daemon = True
            timer.start()

    def _call(self, grant: Grant) -> UpstreamCall:
        """The request as it goes out."""
        asking = self._asking
        cap = None
        if self._budget.bounds_tokens:
            granted = grant.tokens // choices(asking)
            before = lowest_cap(asking)
            cap = granted if before is None or granted < before else None
        self._asked_usage = asking.generates and self._house.asks_usage and lacks_usage(asking)
        document = outgoing(asking, cap=cap, ask_usage=self._asked_usage)
        body = to_bytes(document) if asking.document else b""
        return UpstreamCall(asking.route, asking.form, body, matching(asking), asking.request.headers, grant.seconds)

    def _denied(self, attempt: Attempt) -> Refusal | ModelUnavailable | None:
        """A no that the attempt itself calls for: the key is refused, or another model answers in a strict run."""
        provider, account = self._asking.route.provider, self._house.account
        # Where the key has served before, 403 is about the model that the agent asked for, which is its own choice.
        if attempt.status == 401 or (attempt.status == 403 and not account.totals.answers) or attempt.quota:
            what = "has no credit left" if attempt.quota else "refuses the key"
            return ModelUnavailable(
                f"{provider} {what} (status {attempt.status})", hint="Check the key and its account, then --resume."
            )
        if not attempt.is_success or not self._asking.generates:
            return None
        answered, asked = attempt.reader.state.model, self._asking.model
        if answered is None or not asked or same_model(answered, asked):
            return None
        account.find("model_answered", f"asked for {asked}, {answered} answered")
        if self._house.settings.pinned.policy != "strict":
            return None
        attempt.break_off(f"answered by {answered}", transient=False)
        return Refusal(provider, 404, f"The model {asked} is not available.")

    def _usage_was_refused(self, attempt: Attempt) -> bool:
        """Whether to ask again without asking for the usage: not every server knows the question."""
        if not self._asked_usage:
            if attempt.status in (400, 422) and self._failures and self._failures[-1].get("without_usage"):
                # It was something else.
                self._house.asks_usage = True
            return False
        if attempt.status not in (400, 422):
            return False
        self._house.asks_usage = False
        attempt.trouble = f"status {attempt.status} with stream_options"
        return True

    def _goes_on(self, attempt: Attempt) -> bool:
        """Whether the agent is to get this; else it is ours to try again."""
        policy = self._house.settings.errors
        error = attempt.reader.state.error
        if error is not None:
            attempt.trouble, attempt.transient = attempt.trouble or f"error in the stream: {error[:200]}", True
        return attempt.trouble is None or policy == "pass" or not attempt.transient or self._gone.is_set()

    def _again(self, attempt: Attempt, tries: int) -> bool:
        """Wait before the next attempt; False if there is none."""
        retries = self._house.settings.retries
        if tries >= retries.attempts:
            return False
        self._house.account.find("retried", attempt.trouble or "")
        if self._house.upstream.paced:
            wait = min(retries.longest_wait, retries.wait * 2 ** (tries - 1)) * self._house.jitter.uniform(0.5, 1.0)
            self._gone.wait(max(wait, min(_retry_after(attempt), _RETRY_AFTER_LIMIT)))
        return not self._gone.is_set()

    def _relay(self, attempt: Attempt, grant: Grant) -> Iterator[ResponsePart]:
        """Pass the answer on as it arrives."""
        self.started = True
        deadline = attempt.begun + grant.seconds
        try:
            if attempt.status is None:
                yield from Refusal(self._asking.route.provider, 502, "The model cannot be reached.").parts()
                return
            # A server may repeat the key that it was given; the sandbox is not to have it.
            redactor = self._house.redactor
            held, headers = b"".join(attempt.held), tuple((n, redactor.text(one)) for n, one in attempt.headers)
            if (attempt.ended and attempt.trouble is None) or not attempt.is_success:
                yield from whole(attempt.status, headers, redactor.data(held))
                return
            clean = redactor.growing_data()
            held = clean.add(held)
            first, rest = next(whole(attempt.status, headers, held)), held[PART_LIMIT:]
            yield ResponsePart(first.body, more=True, status=first.status, headers=first.headers)
            yield from pieces(rest)
            self._write_down(attempt)
            while not attempt.ended and not self._gone.is_set():
                yield from pieces(clean.add(next_chunk(attempt)))
                self._write_down(attempt)
                if self._house.clock() > deadline and not attempt.ended:
                    attempt.break_off("it took longer than the budget allows", transient=False, cut=True)
            yield from pieces(clean.end())
            yield ResponsePart(cut=attempt.cut)
        finally:
            self._conclude(attempt, grant)

    def _write_down(self, attempt: Attempt) -> None:
        if self._entry is not None and self._house.scribe is not None:
            self._house.scribe.grow(self._entry, attempt.reader.state)

    def _drain(self, attempt: Attempt) -> None:
        """The agent is gone: read the rest, which tells what was used, for a moment."""
        if attempt.answer is None or not attempt.is_success:
            return
        self._gone.set()
        deadline = self._house.clock() + self._house.settings.drain
        while not attempt.ended and self._house.clock() < deadline:
            next_chunk(attempt)
        if not attempt.ended and attempt.reader.state.complete:
            attempt.ended = True
        elif not attempt.ended:
            attempt.break_off(LEFT, transient=False, cut=True)

    def _conclude(self, attempt: Attempt, grant: Grant) -> None:
        """Close the attempt and keep the books."""
        try:
            if not attempt.ended:
                self._drain(attempt)
        finally:
            if self._gone.is_set() and (attempt.cut or attempt.status is None):
                # We broke it off ourselves; the provider has nothing to do with it.
                attempt.trouble, attempt.transient = LEFT, False
            self._house.closed(attempt)
            attempt.close()
            seconds = self._house.clock() - attempt.begun
            tally = Tally()
            metrics = self._settle(attempt, grant, seconds, tally)
        self._record(attempt, grant, metrics, seconds, tally)

    def _settle(self, attempt: Attempt, grant: Grant, seconds: float, tally: Tally) -> Metrics | None:
        """Settle the budget and count; returns what is known of the usage."""
        asking, house = self._asking, self._house
        dialect, state = asking.dialect, attempt.reader.state
        if not asking.generates:
            grant.release(seconds)
            return None
        if not attempt.whole:
            partial = dialect.metrics(state.usage, tally) if attempt.is_success else None
            if attempt.billed:
                grant.settle(seconds=seconds, tokens=None, cost=None)
            else:
                grant.release(seconds)
            by_provider = attempt.transient or (attempt.status is None and attempt.trouble != LEFT)
            # A call that has come may have been carried out, whatever became of the rest.
            carried_out = self.started and self._gone.is_set() and bool(state.calls)
            had_part = asking.is_turn and self.started and (state.said or state.calls or state.growing)
            house.account.failed(
                partial,
                billed=attempt.billed,
                by_provider=by_provider,
                used=carried_out,
                left_at=self._left_at if had_part else None,
            )
            return partial
        metrics = measured(dialect, state, tally)
        price = house.prices.price(state.model or asking.model)
        cost = price.cost(metrics) if metrics is not None and price is not None else None
        used = metrics.completion_tokens if metrics is not None else None
        grant.settle(seconds=seconds, tokens=used, cost=cost)
        house.account.answered(metrics, cost, is_turn=asking.is_turn, answer_id=state.answer_id)
        if metrics is None:
            house.account.find("unmetered", f"{state.model or asking.model} answered without usage")
        return metrics

    def _record(self, attempt: Attempt, grant: Grant, metrics: Metrics | None, seconds: float, tally: Tally) -> None:
        """Write the attempt into the log, and its answer into the transcript."""
        asking, house, state = self._asking, self._house, attempt.reader.state
        if self._asking.generates and not attempt.whole:
            trouble = attempt.trouble or state.error or "not whole"
            house.account.find("failed_attempt", trouble)
            without = {"without_usage": True} if trouble.endswith("stream_options") else {}
            self._failures.append({"why": trouble, **without, **_counts(metrics)})
        for warning in tally.warnings:
            house.account.find("usage", warning)
        shown = attempt.whole or state.said or bool(state.calls) or bool(state.new_reasoning)
        if shown and self._entry is not None and house.scribe is not None:
            failed = self._failures if attempt.whole else self._failures[:-1]
            extra = {
                "failed_attempts": failed or None,
                "broken_off": None if attempt.whole else attempt.trouble or "error",
            }
            house.scribe.done(self._entry, state, metrics if attempt.whole else None, extra)
            self._entry = None if attempt.whole else self._fresh(self._entry)
        house.log.write(
            {
                "request": self._number,
                "api": asking.route.api,
                "operation": asking.route.operation,
                "form": attempt.form,
                "turn": asking.is_turn or None,
                "asked": asking.wanted or None,
                "sent": asking.model if asking.model != asking.wanted else None,
                "answered": state.model,
                "status": attempt.status,
                "outcome": "answered" if attempt.whole or (not asking.generates and attempt.is_success) else "failed",
                "trouble": attempt.trouble or state.error,
                "finish": state.finish,
                "usage": dict(state.usage) or None,
                "tokens": _counts(metrics) or None,
                "spent": grant.used.to_json() if asking.generates else None,
                "seconds": round(seconds, 6),
            }
        )

    def _fresh(self, entry: Entry) -> Entry:
        """The next attempt's answer is a step of its own."""
        redactor = self._house.redactor
        return Entry(entry.side, entry.conversation, redactor.growing(), redactor.growing())


def same_model(answered: str, asked: str) -> bool:
    """Whether an answer is from the model that was asked for: by its name, or by that of a dated release of it."""
    answered, asked = answered.removeprefix("models/"), asked.removeprefix("models/")
    return answered == asked or is_release(answered, asked.removesuffix("-latest"))


def _counts(metrics: Metrics | None) -> dict[str, Any]:
    return metrics.model_dump(mode="json", exclude_none=True) if metrics is not None else {}


def _retry_after(attempt: Attempt) -> float:
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = next((value for key, value in attempt.headers if key == name), "")
        try:
            seconds = float(value) * scale
        except ValueError:
            continue
        if 0 <= seconds < 1e6:
            return seconds
    return 0.0
