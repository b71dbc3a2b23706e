#!/usr/bin/env bash
# Makes .venv with exactly what a lock says. Usage: images/venv.sh requirements.lock|requirements-dev.lock
set -euo pipefail
# shellcheck source=images/lib.sh
source "$(dirname "$0")/lib.sh"

lock=${1:-requirements-dev.lock}
stamp=$VENV/.installed-$lock-$(recipe_hash "$lock" pyproject.toml)

# The development lock holds the other one too.
dev_stamp=$VENV/.installed-requirements-dev.lock-$(recipe_hash requirements-dev.lock pyproject.toml)
# An environment knows its own path by heart: one in a clone that was moved is made anew.
here() { [[ $(cat "$VENV/.made-in" 2>/dev/null) == "$ROOT" ]]; }
if [[ -x $PYTHON && (-e $stamp || -e $dev_stamp) ]] && here; then exit 0; fi

# find_python: the first interpreter of at least 3.11, whatever it is called.
find_python() {
    local name
    for name in ${TAKEOVER_PYTHON:-} python3 python3.11 python3.12 python3.13 python3.14 python3.15 python; do
        if command -v "$name" >/dev/null && "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$name"
            return
        fi
    done
    return 1
}

# can_make_venv PYTHON: Debian ships python3 without the part that makes environments.
can_make_venv() { "$1" -c 'import ensurepip, venv' >/dev/null 2>&1; }

python=$(find_python) || {
    if is_root && is_debian_like; then apt_install python3 python3-venv || true; fi
    python=$(find_python) || die "Python 3.11 or newer was not found" \
        "Install it (on Debian 12 or newer: apt-get install python3 python3-venv)," "or name one: make grade TAKEOVER_PYTHON=/path/to/python3.11"
}
if ! can_make_venv "$python"; then
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    if is_root && is_debian_like; then apt_install "python$version-venv" || true; fi
    can_make_venv "$python" || die "$python cannot make virtual environments" \
        "On Debian or Ubuntu: sudo apt-get install python$version-venv" "Then call make again."
fi

if ! here || ! [[ -x $PYTHON ]] || ! "$PYTHON" -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    say "making .venv with $("$python" --version)"
    "$python" -m venv --clear "$VENV"
    printf '%s\n' "$ROOT" >"$VENV/.made-in"
fi

say "installing $lock into .venv"
# A constraint of the host's pip would not know our hashes; the lock is the only constraint.
export PIP_CONSTRAINT=/dev/null PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1
"$PYTHON" -m pip install -qq --require-hashes --requirement "$ROOT/$lock"
"$PYTHON" -m pip install -qq --no-deps --no-build-isolation --editable "$ROOT"
mkdir -p "$VENV/typing"
ln -sfn ../.. "$VENV/typing/takeover"
rm -f "$VENV"/.installed-"$lock"-*
touch "$stamp"
