#!/usr/bin/env bash
# Writes the locks: every version and the hashes of its files, and no word of where they came from.
set -euo pipefail
# shellcheck source=images/lib.sh
source "$(dirname "$0")/lib.sh"

compile() {
    "$VENV/bin/uv" pip compile --quiet --upgrade --generate-hashes --no-annotate --custom-compile-command "make lock" "$@"
}

# compile_recipe FILE: for Python 3.11 everywhere, or as the file's line `# lock with: ...` has it.
compile_recipe() {
    local words
    read -ra words < <(sed -n 's/^# lock with: //p' "$1" && echo)
    if [[ ${#words[@]} -eq 0 ]]; then words=(--universal --python-version 3.11); fi
    compile "${words[@]}" "$1" --output-file "${1%.in}.lock"
}

cd "$ROOT"
own=(--universal --python-version 3.11)
compile "${own[@]}" --group build pyproject.toml --output-file requirements.lock
compile "${own[@]}" --group build --group dev --constraint requirements.lock pyproject.toml --output-file requirements-dev.lock
for recipe in images/agents/*/requirements.in images/repos-*/requirements.in tests/model/requirements.in; do
    if [[ -f $recipe ]]; then compile_recipe "$recipe"; fi
done
if command -v npm >/dev/null; then
    for recipe in images/agents/*/package.json; do
        (cd "$(dirname "$recipe")" && npm install --package-lock-only --omit-lockfile-registry-resolved --ignore-scripts \
            --engine-strict=false --no-audit --no-fund --loglevel error >/dev/null)
    done
else
    say "npm is not here: the package-lock.json of agents stay as they are"
fi
