#!/bin/sh
# opencode on the session's prompt, against the gateway; without snapshots, which lie beside the workspace's objects.
set -eu
model=${TAKEOVER_MODEL:-takeover-model}
export OPENCODE_CONFIG_CONTENT='{
  "provider": {"gateway": {
    "npm": "@ai-sdk/openai-compatible",
    "options": {"baseURL": "http://127.0.0.1:4000/v1", "apiKey": "none"},
    "models": {"'"$model"'": {}}
  }},
  "small_model": "gateway/'"$model"'", "autoupdate": false, "share": "disabled", "snapshot": false
}'
exec /opt/opencode run --auto --format json -m "gateway/$model" -- "$(cat "$TAKEOVER_PROMPT_FILE")" </dev/null
