# Sourced by the scripts beside it: how they speak, and the one place where images are named.
# shellcheck shell=bash

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
VENV=$ROOT/.venv
# shellcheck disable=SC2034 # used by those who source this
PYTHON=$VENV/bin/python

say() { printf '==> %s\n' "$*" >&2; }

# At most three lines of what to do, then exit code 3: the machinery is missing, nobody misused it.
die() {
    printf 'error: %s\n' "$1" >&2
    shift
    local line
    for line in "$@"; do printf '       %s\n' "$line" >&2; done
    exit 3
}

is_root() { [[ ${EUID:-$(id -u)} -eq 0 ]]; }

# The words of /etc/os-release that say whose packages this host takes.
is_debian_like() {
    [[ -r ${OS_RELEASE:-/etc/os-release} ]] && command -v apt-get >/dev/null &&
        grep -qE '^(ID|ID_LIKE)=.*(debian|ubuntu)' "${OS_RELEASE:-/etc/os-release}"
}

# apt_install PACKAGE...: Debian and Ubuntu, as root. Output goes to a log that is shown when it fails.
apt_install() {
    local log
    log=$(mktemp)
    say "installing Debian packages: $*"
    if [[ -z $(find /var/lib/apt/lists -name '*Packages*' -print -quit 2>/dev/null) ]]; then
        apt-get update >"$log" 2>&1 || true
    fi
    if ! apt_get_install "$log" "$@"; then
        apt-get update >>"$log" 2>&1 || true
        apt_get_install "$log" "$@" || {
            tail -n 20 "$log" >&2
            rm -f "$log"
            return 1
        }
    fi
    rm -f "$log"
}

apt_get_install() {
    local log=$1
    shift
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" </dev/null >>"$log" 2>&1
}

# recipe_hash FILE_OR_WORD...: twelve hex digits that change when any file's text, or any word, does.
recipe_hash() {
    local item
    for item in "$@"; do
        if [[ -f $ROOT/$item ]]; then
            printf '%s\n' "$item"
            sha256sum <"$ROOT/$item"
        else
            printf '%s\n' "$item"
        fi
    done | sha256sum | cut -c1-12
}

base_tag() { printf 'takeover-base:%s' "$(recipe_hash images/base.sh)"; }

# image_tag NAME: sandbox, a folder images/repos-*, or the name of a folder with a Dockerfile under images/agents.
image_tag() {
    local name=$1 dir files=()
    dir=$(image_dir "$name")
    while IFS= read -r file; do files+=("$file"); done < <(cd "$ROOT" && find "$dir" -type f -not -name '*.pyc' | LC_ALL=C sort)
    if [[ -f $ROOT/$dir/package-lock.json ]]; then files+=(images/node/npm.sh images/node/requirements.lock); fi
    case $name in
    sandbox) printf 'takeover-sandbox:%s' "$(recipe_hash "$(base_tag)" images/install.sh "${files[@]}")" ;;
    *) printf 'takeover-%s:%s' "$name" "$(recipe_hash "$(image_tag sandbox)" images/install.sh "${files[@]}")" ;;
    esac
}

image_dir() {
    case $1 in
    sandbox | repos-*) printf 'images/%s' "$1" ;;
    *) printf 'images/agents/%s' "$1" ;;
    esac
}

# Sets ENGINE_CLI and DOCKER_HOST for the engine that engine.sh found.
use_engine() {
    if [[ -s $VENV/engine.env ]]; then
        set -a
        # shellcheck source=/dev/null
        source "$VENV/engine.env"
        set +a
    fi
    local name
    for name in docker podman; do
        if command -v "$name" >/dev/null; then
            ENGINE_CLI=$name
            return
        fi
    done
    die "an engine answers, but there is no docker (or podman) command to build images with" \
        "On Debian or Ubuntu: sudo apt-get install docker-cli docker-buildx (Debian 12: docker.io)"
}

have_image() { "$ENGINE_CLI" image inspect "$1" >/dev/null 2>&1; }

image_id() { "$ENGINE_CLI" image inspect --format '{{.Id}}' "$1" 2>/dev/null || true; }
