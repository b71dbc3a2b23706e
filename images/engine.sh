#!/usr/bin/env bash
# A container engine that answers: one that is there, else Docker from the distribution, installed and started.
# What a later command needs to know of it goes to .venv/engine.env.
set -euo pipefail
# shellcheck source=images/lib.sh
source "$(dirname "$0")/lib.sh"
# shellcheck source=images/daemon.sh
source "$(dirname "$0")/daemon.sh"

LOG=$VENV/dockerd.log
PIDFILE=$VENV/dockerd.pid

find_engine() { "$PYTHON" "$ROOT/images/find_engine.py"; }

# The Docker command finds contexts and the default socket by itself; only another socket has to be named.
remember() {
    if [[ -z ${DOCKER_HOST:-} && $1 == unix://* && $1 != unix:///var/run/docker.sock ]]; then
        printf 'DOCKER_HOST=%s\n' "$1" >"$VENV/engine.env"
    else
        : >"$VENV/engine.env"
    fi
}

install_engine() {
    local packages=(docker.io iptables) extra
    [[ -n $(find /var/lib/apt/lists -name '*Packages*' -print -quit 2>/dev/null) ]] || apt-get update >/dev/null 2>&1 || true
    # Newer releases ship the command and its builder apart from the daemon.
    for extra in docker-cli docker-buildx; do
        if [[ -n $(apt-cache --quiet=2 show "$extra" 2>/dev/null) ]]; then packages+=("$extra"); fi
    done
    apt_install "${packages[@]}"
}

start_engine() {
    if [[ -d /run/systemd/system ]]; then
        say "starting Docker (systemctl start docker)"
        systemctl start docker >/dev/null 2>&1 && wait_for_daemon /dev/null 60 find_engine && return 0
        return 1
    fi
    say "starting dockerd (its log: $LOG)"
    mount_cgroups || true
    drop_stale_pid /var/run/docker.pid dockerd
    # Installing it may have started it, or somebody else just did.
    if [[ -f /var/run/docker.pid ]] && wait_for_daemon /var/run/docker.pid 60 find_engine; then return 0; fi
    drop_stale_pid /var/run/docker/containerd/containerd.pid containerd
    start_daemon "$LOG" "$PIDFILE" find_engine
}

if address=$(find_engine 2>"$VENV/engine.why"); then
    remember "$address"
    exit 0
elif [[ $? -eq 2 ]]; then
    # Somebody named an engine: another one in its place would be a surprise.
    mapfile -t why <"$VENV/engine.why"
    die "${why[@]}" "Or unset DOCKER_HOST and DOCKER_CONTEXT to use the engine of this machine."
fi

if is_root && is_debian_like; then
    say "no container engine answers here"
    command -v dockerd >/dev/null || install_engine ||
        die "Docker could not be installed from this machine's package sources" "Install it by hand: apt-get install docker.io"
    start_engine || die "Docker is installed, but does not start" "See $LOG (or: journalctl -u docker)"
    address=$(find_engine)
    remember "$address"
    say "the engine answers at $address"
else
    die "no container engine answers" \
        "Install Docker (Debian, Ubuntu: sudo apt-get install docker.io; sudo usermod -aG docker $(id -un)) or start" \
        "Podman's socket (systemctl --user start podman.socket), or set DOCKER_HOST; then call make again."
fi
