"""A scripted model: an upstream that plays turns in whatever wire format it is asked, without a model or a network."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from .dialect import Dialect, Echo, Tool, ToolResult
from .dialects import DIALECTS
from .exchange import Headers
from .jsontext import canonical
from .listing import listing
from .redaction import Secret
from .refusal import Refusal
from .routes import Api, Operation
from .script import Action, Fault, Finish, Reply, ToolUse, Turn, Usage
from .script_tools import asks_for_text_edits, call_for, filled, in_text
from .script_wire import document, error_event, stream
from .settings import Settings
from .upstream import Answer, Unreached, UpstreamCall
from .volatile import Volatile

MODEL: Final = "scripted-1"
_REMEMBERED: Final = 4096


class Scripted:
    """One session's model. Each new request of a turn gets the next turn, the same request again gets the same one."""

    paced = False

    def __init__(self, turns: Sequence[Turn], *, root: str = "/workspace", model: str | None = None) -> None:
        self._turns = list(turns)
        self._root = root
        self._model = model
        self._next = 0
        self._calls = 0
        self._answers = 0
        self._given: OrderedDict[str, Reply] = OrderedDict()
        self._lock = threading.Lock()

    def send(self, call: UpstreamCall) -> Answer:
        """Play the next turn."""
        api, given = call.route.api, dict(call.document)
        if call.route.operation is Operation.MODELS:
            parts = list(listing(call.route, Settings(models=(self._model or MODEL,))) or ())
            return _Canned(parts[0].status or 200, *(part.body for part in parts))
        if call.route.operation is Operation.COUNT:
            name = "totalTokens" if api is Api.GEMINI else "input_tokens"
            return _Canned(200, json.dumps({name: len(canonical(given)) // 4}).encode())
        dialect = DIALECTS[api]
        tools = [tool for tool in dialect.tools(given) if not tool.server]
        prompt = _prompt(dialect, given)
        is_turn = bool(tools) or asks_for_text_edits(prompt)
        reply, fault = self._play(call, tools, prompt) if is_turn else (self._side(call), None)
        if fault is not None and fault.status is not None:
            return _refused(call, fault)
        if call.form == "json":
            return _Canned(200, json.dumps(document(api, reply)).encode(), fault=fault, api=api)
        chunks = stream(api, call.form, reply, ask_usage=_asks_usage(call))
        kind = "application/json" if call.form == "array" else "text/event-stream"
        return _Canned(200, *chunks, kind=kind, fault=fault, api=api)

    def end(self) -> None:
        """Nobody waits here."""

    def close(self) -> None:
        """Nothing is open."""

    def _play(self, call: UpstreamCall, tools: Sequence[Tool], prompt: str) -> tuple[Reply, Fault | None]:
        """The next turn; the same one again where the same is asked again, unless it was a fault."""
        key = hashlib.sha256(canonical([call.route.target, call.document]).encode("ascii")).hexdigest()
        with self._lock:
            if key in self._given:
                return self._given[key], None
            turn = self._turns[self._next] if self._next < len(self._turns) else Turn(actions=(Finish(),))
            self._next += 1
            reply = self._reply(turn, [_made(action, tools, self._root, prompt) for action in turn.actions], call)
            if turn.fault is None:
                self._given[key] = reply
                while len(self._given) > _REMEMBERED:
                    self._given.popitem(last=False)
            return reply, turn.fault

    def _side(self, call: UpstreamCall) -> Reply:
        with self._lock:
            return self._reply(Turn(_side_text(call.document)), [], call)

    def _reply(self, turn: Turn, made: Sequence[tuple[str, dict[str, Any]] | str], call: UpstreamCall) -> Reply:
        texts = [turn.say] if turn.say else []
        uses: list[ToolUse] = []
        for one in made:
            if isinstance(one, str):
                texts.append(one)
            else:
                self._calls += 1
                uses.append(ToolUse(f"call_{self._calls:04}", *one))
        self._answers += 1
        text = "\n\n".join(texts)
        usage = None
        if turn.tells_usage:
            written = len(text) + len(turn.think) + sum(len(canonical(dict(use.arguments))) for use in uses)
            usage = turn.usage or Usage(len(canonical(call.document)) // 4 + 1, written // 4 + 1)
        asked = call.route.model or call.document.get("model")
        model = turn.model or self._model or (asked if isinstance(asked, str) else MODEL)
        return Reply(f"scripted_{self._answers:04}", model, text, turn.think, tuple(uses), usage)


class ScriptedSupply:
    """A script for each session of a trial; the last one serves all that follow."""

    def __init__(self, sessions: Sequence[Sequence[Turn]], *, root: str = "/workspace") -> None:
        self._sessions = [list(turns) for turns in sessions] or [[]]
        self._root = root

    def upstream(self, scope: str, volatile: Volatile) -> Scripted:  # noqa: ARG002  # nothing is matched
        """The model of a session; its number is at the end of the scope (`.../2-session`)."""
        match = re.search(r"/(\d+)-[^/]*$", scope)
        number = min(int(match[1]) if match else 1, len(self._sessions))
        return Scripted(self._sessions[max(number, 1) - 1], root=self._root)

    def secrets(self) -> list[Secret]:
        """None."""
        return []

    def close(self) -> None:
        """Nothing is open."""


class _Canned:
    def __init__(
        self,
        status: int,
        *chunks: bytes,
        kind: str = "application/json",
        headers: Headers = (),
        fault: Fault | None = None,
        api: Api = Api.CHAT,
    ) -> None:
        self.status = status
        self.headers: Headers = (("content-type", kind), *headers)
        self._chunks = chunks
        self._fault = fault
        self._api = api

    def chunks(self) -> Iterator[bytes]:
        fault = self._fault
        for number, chunk in enumerate(self._chunks):
            if fault is not None and number == fault.cut_after:
                raise Unreached(fault.message)
            if fault is not None and number == fault.error_after:
                yield error_event(self._api, fault.message)
                return
            yield chunk

    def abort(self) -> None:
        pass

    def close(self) -> None:
        pass


def _made(action: Action, tools: Sequence[Tool], root: str, prompt: str) -> tuple[str, dict[str, Any]] | str:
    if not tools:
        text = in_text(action, prompt)
        if text is not None:
            return text
    return call_for(action, tools, root, prompt)


def _prompt(dialect: Dialect, given: Mapping[str, Any]) -> str:
    """What the request says, but for what the model itself is said to have said."""
    items = [item for item in dialect.items(given) if not isinstance(item, Echo | ToolResult)]
    return "\n".join(item.text for item in items)


def _asks_usage(call: UpstreamCall) -> bool:
    # It is asked for in what goes out; what is matched may not hold it.
    options = json.loads(call.body).get("stream_options") if call.body else None
    return isinstance(options, dict) and options.get("include_usage") is True


def _side_text(given: Mapping[str, Any]) -> str:
    """The answer to a request that is no turn: a title, or what its schema asks for."""
    config = given.get("generationConfig")
    schema = config.get("responseJsonSchema") or config.get("responseSchema") if isinstance(config, dict) else None
    wanted = given.get("response_format")
    if isinstance(wanted, dict) and isinstance(wanted.get("json_schema"), dict):
        schema = wanted["json_schema"].get("schema")
    return json.dumps(filled(schema, {})) if isinstance(schema, dict) else "A scripted session"


def _refused(call: UpstreamCall, fault: Fault) -> Answer:
    assert fault.status is not None
    body = json.dumps(Refusal(call.route.provider, fault.status, fault.message).document()).encode()
    after = () if fault.retry_after is None else (("retry-after", f"{fault.retry_after:g}"),)
    return _Canned(fault.status, body, headers=after)
