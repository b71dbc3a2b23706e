"""The table of dialects."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from .chat import Chat
from .dialect import Dialect
from .gemini import Gemini
from .messages import Messages
from .responses import Responses
from .routes import Api

DIALECTS: Final[Mapping[Api, Dialect]] = MappingProxyType(
    {Api.CHAT: Chat(), Api.RESPONSES: Responses(), Api.MESSAGES: Messages(), Api.GEMINI: Gemini()}
)
