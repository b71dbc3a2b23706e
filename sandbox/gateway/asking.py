"""A request that was understood, and what the run's pins make of it."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from .dialect import Dialect, Place, Tool
from .dialects import DIALECTS
from .exchange import HttpRequest
from .jsontext import parse_object
from .routes import Api, Form, Operation, Route
from .settings import Settings

# What a call may generate when neither the agent nor the run says so, and a budget needs a number.
# Some models refuse a higher bound than they can write.
DEFAULT_CAP: Final = 16_000
# Fewer generated tokens than this are no answer worth a call.
SMALLEST_CAP: Final = 16
# What the provider may put into a prompt by itself, where a request refers to something that it keeps.
HIDDEN_CONTEXT: Final = 200_000
_SMALLEST_THINKING: Final = 1024
# What a provider writes around tools.
_PREAMBLE: Final = 2_000


@dataclass(frozen=True, slots=True)
class Change:
    """Something that the run had set otherwise than the agent asked for."""

    kind: str
    detail: str


@dataclass(slots=True)
class Asking:
    """One request. `document` is the agent's, with the pins applied; it is what a cassette matches."""

    route: Route
    dialect: Dialect
    form: Form
    document: dict[str, Any] = field(repr=False)
    request: HttpRequest = field(repr=False)
    model: str
    wanted: str
    tools: list[Tool] = field(default_factory=list, repr=False)
    changes: list[Change] = field(default_factory=list)
    is_turn: bool = False

    @property
    def generates(self) -> bool:
        """Whether the model is to write something."""
        return self.route.operation is Operation.GENERATE


def understand(request: HttpRequest, route: Route, settings: Settings) -> Asking:
    """Read a request and apply the pins. Raises NotJson."""
    dialect = DIALECTS[route.api]
    document = parse_object(request.body) if route.operation is not Operation.MODELS else {}
    form: Form = route.form or ("sse" if dialect.streams(document) else "json")
    wanted = _model(dialect, route, document)
    asking = Asking(route, dialect, form, document, request, wanted, wanted)
    if route.operation is Operation.MODELS:
        return asking
    _pin(asking, settings)
    asking.tools = dialect.tools(document)
    local = any(not tool.server for tool in asking.tools)
    asking.is_turn = asking.generates and (local or settings.turns == "all")
    return asking


def _pin(asking: Asking, settings: Settings) -> None:
    pinned, fields, document = settings.pinned, asking.dialect.fields, asking.document
    if pinned.model is not None and asking.wanted != pinned.model:
        asking.changes.append(Change("model", f"asked for {asking.wanted or 'no model'}, got {pinned.model}"))
        asking.model = pinned.model
        if fields.model is not None:
            put(document, fields.model, pinned.model)
        else:
            asking.route = _for_model(asking.route, pinned.model)
    if pinned.server_tools == "strip" and any(tool.server for tool in asking.dialect.tools(document)):
        asking.dialect.without_server_tools(document)
        asking.changes.append(Change("server_tools", "tools that the provider runs were taken out"))
    if not asking.generates:
        return
    for name, place, value in (
        ("temperature", fields.temperature, pinned.temperature),
        ("top_p", fields.top_p, pinned.top_p),
    ):
        if value is not None:
            _set(asking, name, place, value)
    if pinned.output_cap is not None:
        before = lowest_cap(asking)
        if before is None or before > pinned.output_cap:
            if before is not None:
                asking.changes.append(Change("output_cap", f"asked for {before}, got {pinned.output_cap}"))
            lower_caps(asking.dialect, document, pinned.output_cap)


def _set(asking: Asking, name: str, place: Place, value: float) -> None:
    found = [box[key] for box, key in places(asking.document, place)]
    if found and all(one == value for one in found):
        return
    if found:
        asking.changes.append(Change(name, f"asked for {found[0]!r:.40}, got {value}"))
    put(asking.document, place, value)


def outgoing(asking: Asking, *, cap: int | None, ask_usage: bool) -> dict[str, Any]:
    """The document as it goes out: with the cap that the budget grants, and with usage asked for."""
    document = asking.document
    if cap is not None:
        document = copy.copy(document)
        for name in ("generationConfig", "generation_config", "thinking"):
            if isinstance(document.get(name), dict):
                document[name] = dict(document[name])
        lower_caps(asking.dialect, document, cap)
    if ask_usage:
        options = document.get("stream_options")
        document = {
            **document,
            "stream_options": {**(options if isinstance(options, dict) else {}), "include_usage": True},
        }
    return document


def matching(asking: Asking) -> dict[str, Any]:
    """The document by which a cassette knows the request: without caps, which budgets and servers have a say in."""
    document = dict(asking.document)
    for place in asking.dialect.fields.caps:
        for names in place[:-1]:
            document.update({name: dict(document[name]) for name in names if isinstance(document.get(name), dict)})
        for box, key in list(places(document, place)):
            del box[key]
    return document


def lacks_usage(asking: Asking) -> bool:
    """Whether a stream would not tell its usage because nobody asked for it."""
    if asking.route.api is not Api.CHAT or asking.form != "sse":
        return False
    options = asking.document.get("stream_options")
    return not (isinstance(options, dict) and options.get("include_usage") is True)


def lowest_cap(asking: Asking) -> int | None:
    """The lowest bound that the request sets to its output."""
    caps = [box[key] for place in asking.dialect.fields.caps for box, key in places(asking.document, place)]
    return min((cap for cap in caps if isinstance(cap, int) and not isinstance(cap, bool) and cap > 0), default=None)


def choices(asking: Asking) -> int:
    """How many answers are asked for at once: each of them may be as long as the cap."""
    place = asking.dialect.fields.choices
    counts = [box[key] for box, key in places(asking.document, place)] if place is not None else []
    return max([1, *(count for count in counts if isinstance(count, int))])


def input_bound(asking: Asking) -> int:
    """More tokens than the prompt can have: a token is at least one byte."""
    kept = sum(1 for _ in asking.dialect.foreign(asking.document)) + _links(asking.document)
    return len(asking.request.body) + kept * HIDDEN_CONTEXT + _PREAMBLE


def lower_caps(dialect: Dialect, document: dict[str, Any], cap: int) -> None:
    """Bound the output: every cap that is higher, and where there is none, a new one."""
    found = False
    for place in dialect.fields.caps:
        for box, key in list(places(document, place)):
            found = True
            if not isinstance(box[key], int) or isinstance(box[key], bool) or box[key] > cap:
                box[key] = cap
    if not found:
        put(document, dialect.fields.caps[0], cap)
    thinking = document.get("thinking")
    if dialect.api is Api.MESSAGES and isinstance(thinking, dict) and isinstance(thinking.get("budget_tokens"), int):
        # Anthropic wants the thinking to be shorter than the whole.
        if thinking["budget_tokens"] >= cap > _SMALLEST_THINKING:
            document["thinking"] = {**thinking, "budget_tokens": cap - 1}
        elif thinking["budget_tokens"] >= cap:
            del document["thinking"]


def places(document: Mapping[str, Any], place: Place) -> Iterator[tuple[dict[str, Any], str]]:
    """Where a field is, in any of its spellings: the objects that hold it, and its name there."""
    boxes = [document]
    for names in place[:-1]:
        boxes = [box[name] for box in boxes for name in names if isinstance(box.get(name), dict)]
    yield from (
        (box, name) for box in boxes for name in place[-1] if isinstance(box, dict) and box.get(name) is not None
    )


def put(document: dict[str, Any], place: Place, value: Any) -> None:
    """Set a field wherever it is; else in its first spelling."""
    found = list(places(document, place))
    for box, key in found:
        box[key] = value
    if found:
        return
    box = document
    for names in place[:-1]:
        name = next((name for name in names if isinstance(box.get(name), dict)), names[0])
        box = box.setdefault(name, {}) if isinstance(box.get(name, {}), dict) else box
    box[place[-1][0]] = value


def _model(dialect: Dialect, route: Route, document: Mapping[str, Any]) -> str:
    if route.model is not None:
        return route.model
    if dialect.fields.model is None:
        return ""
    value = document.get(dialect.fields.model[0][0])
    return value if isinstance(value, str) else ""


def _for_model(route: Route, model: str) -> Route:
    verb = route.path.rpartition(":")[2]
    return Route(
        route.provider, route.api, route.operation, f"/v1beta/models/{model}:{verb}", route.query, model, route.form
    )


def _links(document: Any) -> int:
    """How many parts of the request are elsewhere, so that their size is not that of the request."""
    found, level = 0, [document]
    while level:
        nested = []
        for box in level:
            for key, value in box.items() if isinstance(box, dict) else enumerate(box):
                if isinstance(value, dict | list):
                    nested.append(value)
                elif key in ("url", "image_url", "file_url", "fileUri", "file_uri", "file_id") and isinstance(
                    value, str
                ):
                    found += not value.startswith("data:")
        level = nested
    return found
