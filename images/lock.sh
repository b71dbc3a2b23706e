#!/usr/bin/env bash
# Writes the locks: every version and the hashes of its files, and no word of where they came from.
set -euo pipefail
# shellcheck source=images/lib.sh
source "$(dirname "$0")/lib.sh"

compile() {
    "$VENV/bin/uv" pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
        --no-annotate --custom-compile-command "make lock" "$@"
}

cd "$ROOT"
compile --group build pyproject.toml --output-file requirements.lock
compile --group build --group dev --constraint requirements.lock pyproject.toml --output-file requirements-dev.lock
for recipe in images/agents/*/requirements.in images/repos-*/requirements.in; do
    if [[ -f $recipe ]]; then compile "$recipe" --output-file "${recipe%.in}.lock"; fi
done
