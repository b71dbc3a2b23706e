# Sourced by engine.sh: starting a Docker Engine where none answers.
# shellcheck shell=bash

# drop_stale_pid FILE NAME: after a crash or a reboot the number in FILE may belong to another program,
# and the daemon would then refuse to start, or wait for ever for a containerd that is not there.
drop_stale_pid() {
    local file=$1 name=$2 pid
    [[ -f $file ]] || return 0
    pid=$(<"$file")
    if [[ ! $pid =~ ^[0-9]+$ || $(cat "/proc/$pid/comm" 2>/dev/null) != "$name" ]]; then
        say "removing $file: process ${pid:-?} is no $name"
        rm -f "$file"
    fi
}

# Without an init system nobody mounts the control groups.
mount_cgroups() {
    [[ -e /sys/fs/cgroup/cgroup.controllers ]] && return 0
    grep -qs ' /sys/fs/cgroup/memory ' /proc/mounts && return 0
    apt_install cgroupfs-mount && cgroupfs-mount
}

# spawn_daemon LOG PIDFILE [ARGUMENT...]: dockerd in a session of its own, which outlives make.
spawn_daemon() {
    local log=$1 pidfile=$2
    shift 2
    # shellcheck disable=SC2016 # the inner shell's own
    setsid bash -c 'echo $$ >"$1"; shift; exec dockerd "$@"' spawn "$pidfile" "$@" >>"$log" 2>&1 </dev/null &
    disown
}

# wait_for_daemon PIDFILE SECONDS COMMAND...: until COMMAND holds; fails early when the daemon has ended.
wait_for_daemon() {
    local pidfile=$1 deadline=$((SECONDS + $2))
    shift 2
    until "$@" >/dev/null 2>&1; do
        if ((SECONDS >= deadline)); then return 1; fi
        sleep 0.3
        if [[ -s $pidfile ]] && ! kill -0 "$(<"$pidfile")" 2>/dev/null; then return 1; fi
    done
}

# start_daemon LOG PIDFILE PROBE [ARGUMENT...]: PROBE is a command of one word that says whether the engine answers.
# The second try is for kernels without the firewall tables that Docker's own network wants; sandboxes need none.
start_daemon() {
    local log=$1 pidfile=$2 probe=$3
    shift 3
    mkdir -p "$(dirname "$log")"
    : >"$log"
    : >"$pidfile"
    spawn_daemon "$log" "$pidfile" "$@"
    if wait_for_daemon "$pidfile" 60 "$probe"; then return 0; fi
    kill -0 "$(<"$pidfile")" 2>/dev/null && return 1
    grep -qE 'iptables|network controller|bridge' "$log" || return 1
    say "the engine could not set up its network; starting it without one"
    : >"$pidfile"
    spawn_daemon "$log" "$pidfile" --iptables=false --ip6tables=false --bridge=none "$@"
    wait_for_daemon "$pidfile" 60 "$probe"
}
