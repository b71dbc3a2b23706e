#!/bin/sh
# Codex on the session's prompt, against the gateway. Its own sandbox has no namespaces here; this one is around it.
set -eu
exec /opt/codex/bin/codex exec --json --dangerously-bypass-approvals-and-sandbox --skip-git-repo-check \
    -m "${TAKEOVER_MODEL:-takeover-model}" -c model_provider=gateway \
    -c 'model_providers.gateway={name="gateway",base_url="http://127.0.0.1:4000/v1",env_key="CODEX_KEY",wire_api="responses"}' \
    -c analytics.enabled=false -c features.plugins=false -c 'web_search="disabled"' -- - <"$TAKEOVER_PROMPT_FILE"
