#!/bin/sh
# qwen-code on the session's prompt, against the gateway.
set -eu
model=${TAKEOVER_MODEL:-takeover-model}
export OPENAI_MODEL="$model"
exec node /opt/agent/node_modules/@qwen-code/qwen-code/cli-entry.js --auth-type openai -m "$model" \
    --approval-mode yolo --output-format json --prompt="$(cat "$TAKEOVER_PROMPT_FILE")" </dev/null
