#!/bin/sh
# Claude Code on the session's prompt, against the gateway.
set -eu
model=${TAKEOVER_MODEL:-takeover-model}
export ANTHROPIC_MODEL="$model" ANTHROPIC_DEFAULT_HAIKU_MODEL="$model"
exec /opt/claude -p --output-format stream-json --verbose --dangerously-skip-permissions <"$TAKEOVER_PROMPT_FILE"
