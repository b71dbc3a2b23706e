#!/usr/bin/env bash
# The base of every image: Debian 12, from an image registry or built from Debian's packages (then with Python and git).
set -euo pipefail
# shellcheck source=images/lib.sh
source "$(dirname "$0")/lib.sh"
# shellcheck source=images/secrets.sh
source "$(dirname "$0")/secrets.sh"

REGISTRY_IMAGE=debian:bookworm-slim
SUITE=bookworm
PACKAGES=python3,git,ca-certificates
# As the registry's slim image: no documentation (but licences), no translations.
SLIM=(--dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright'
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/info/*'
    --dpkgopt='path-exclude=/usr/share/locale/*')
ASK='import sys, docker; docker.from_env(timeout=15).images.get_registry_data(sys.argv[1])'

use_engine
tag=$(base_tag)
if have_image "$tag"; then exit 0; fi

# Asked through the engine first, then by the command itself, which knows contexts; each gets some seconds.
registry_answers() {
    have_image "$REGISTRY_IMAGE" || timeout 20 "$PYTHON" -c "$ASK" "$REGISTRY_IMAGE" >/dev/null 2>&1 ||
        timeout 15 "$ENGINE_CLI" manifest inspect "$REGISTRY_IMAGE" >/dev/null 2>&1 </dev/null
}

from_registry() {
    say "taking $REGISTRY_IMAGE from the image registry"
    have_image "$REGISTRY_IMAGE" || timeout 600 "$ENGINE_CLI" pull --quiet "$REGISTRY_IMAGE" >/dev/null </dev/null || return 1
    "$ENGINE_CLI" tag "$REGISTRY_IMAGE" "$tag"
}

same_architecture() {
    local ours theirs
    ours=$(dpkg --print-architecture)
    theirs=$("$ENGINE_CLI" version --format '{{.Server.Arch}}' 2>/dev/null || true)
    [[ ${theirs:-$ours} == "$ours" ]]
}

# bootstrap FOLDER: base.tar in FOLDER. The host's apt settings and mirrors are used, and taken out again.
bootstrap() {
    local work=$1 sources=()
    apt_settings >"$work/apt.conf"
    debian_sources >"$work/sources"
    # shellcheck disable=SC2016 # mmdebstrap's hooks get the folder as $1
    if [[ -s $work/sources ]]; then
        sources=("$work/sources" --customize-hook='rm -rf "$1"/etc/apt/sources.list "$1"/etc/apt/sources.list.d/*')
    fi
    # shellcheck disable=SC2016
    mmdebstrap --quiet --variant=minbase --include="$PACKAGES" "${SLIM[@]}" --aptopt="$work/apt.conf" \
        --customize-hook='rm -f "$1"/etc/apt/apt.conf.d/99mmdebstrap' \
        --customize-hook='rm -rf "$1"/var/lib/apt/lists/* "$1"/var/cache/apt/* "$1"/var/log/*.log "$1"/var/log/apt' \
        "$SUITE" "$work/base.tar" "${sources[@]}" >"$work/log" 2>&1 </dev/null
}

from_packages() {
    local work
    if ! command -v mmdebstrap >/dev/null && is_root && is_debian_like; then
        apt_install mmdebstrap debian-archive-keyring || true
    fi
    if ! command -v mmdebstrap >/dev/null || ! same_architecture; then
        die "no image registry answers, and $REGISTRY_IMAGE is not here" \
            "Bring that image to the engine (docker load), or install mmdebstrap (sudo apt-get install mmdebstrap):" \
            "with it the same system is built from Debian's packages."
    fi
    say "no image registry answers: building Debian 12 from its packages (mmdebstrap; once, about half a minute)"
    work=$(mktemp -d)
    # shellcheck disable=SC2064 # this folder, now
    trap "rm -rf '$work'" EXIT
    if ! bootstrap "$work"; then
        tail -n 20 "$work/log" >&2
        die "Debian 12 could not be built from its packages; mmdebstrap's last lines are above"
    fi
    "$ENGINE_CLI" import --change 'CMD ["bash"]' "$work/base.tar" "$tag" >/dev/null
}

if registry_answers && from_registry; then exit 0; fi
from_packages
