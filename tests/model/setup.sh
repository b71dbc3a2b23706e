#!/usr/bin/env bash
# Makes the environment of `make test-model` and prints the path of its Python: a small language model and a server for
# it, in the user's cache, because the server is compiled (four minutes on two idle cores) for this very processor.
set -euo pipefail
# shellcheck source=images/lib.sh
source "$(dirname "$0")/../../images/lib.sh"

lock=tests/model/requirements.lock
folder=${XDG_CACHE_HOME:-$HOME/.cache}/takeover/model-$(recipe_hash "$lock" "$(grep -m 1 '^flags' /proc/cpuinfo)")
if [[ ! -e $folder/.installed ]]; then
    if ! command -v g++ >/dev/null; then
        if is_root && is_debian_like; then apt_install g++ || true; fi
        command -v g++ >/dev/null || die "there is no C++ compiler" "On Debian or Ubuntu: sudo apt-get install g++"
    fi
    say "installing a small language model and its server into $folder (compiles for some minutes, once)"
    "$PYTHON" -m venv --clear "$folder"
    PIP_CONSTRAINT=/dev/null PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 \
        "$folder/bin/python" -m pip install -qq --require-hashes --requirement "$ROOT/$lock" >&2
    touch "$folder/.installed"
fi
printf '%s\n' "$folder/bin/python"
