#!/bin/sh
# Gemini CLI on the session's prompt, against the gateway.
set -eu
exec node /opt/agent/node_modules/@google/gemini-cli/bundle/gemini.js -m "${TAKEOVER_MODEL:-takeover-model}" \
    --approval-mode yolo --output-format json --prompt="$(cat "$TAKEOVER_PROMPT_FILE")" </dev/null
