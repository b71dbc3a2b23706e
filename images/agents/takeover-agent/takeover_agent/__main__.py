"""Starts the agent on the session's prompt: `python -m takeover_agent [--format chat|responses|messages]`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from .chat import Chat
from .loop import Model, ModelGone, work
from .messages import Messages
from .responses import Responses
from .tools import Toolbox

FORMATS: Final[Mapping[str, type[Chat | Responses | Messages]]] = {
    "chat": Chat,
    "responses": Responses,
    "messages": Messages,
}


def main() -> int:
    """Exit code 0 when the model said that it is done, 1 when it did not."""
    environ = os.environ
    parser = argparse.ArgumentParser(prog="takeover-agent")
    parser.add_argument("--format", choices=FORMATS, default=environ.get("TAKEOVER_AGENT_FORMAT", "chat"))
    parser.add_argument("--model", default=environ.get("TAKEOVER_MODEL", "takeover-model"))
    parser.add_argument("--steps", type=int, default=int(environ.get("TAKEOVER_AGENT_STEPS", "100")))
    parser.add_argument("--no-stream", action="store_true", default=environ.get("TAKEOVER_AGENT_STREAM") == "0")
    options = parser.parse_args()
    if options.format not in FORMATS:  # argparse looks at what is given, not at defaults
        parser.error(f"TAKEOVER_AGENT_FORMAT: {options.format!r} is none of {', '.join(FORMATS)}")

    prompt = Path(environ["TAKEOVER_PROMPT_FILE"]).read_text(encoding="utf-8")
    model: Model = FORMATS[options.format](options.model, stream=not options.no_stream)
    try:
        done = work(model, Toolbox(Path.cwd()), prompt, options.steps, lambda line: print(line, flush=True))
    except ModelGone as error:
        print(f"stopped: {error}", file=sys.stderr)
        return 1
    return 0 if done else 1


if __name__ == "__main__":
    sys.exit(main())
