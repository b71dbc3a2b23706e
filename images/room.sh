# Sourced by build.sh: whether the engine's disk has room for what is to be built.
# shellcheck shell=bash

# room_of NAME: MiB that a build takes: its layers twice (the stage that makes them stays in the builder's cache).
room_of() {
    case $1 in
    base) echo 500 ;;
    sandbox) echo 250 ;;
    repos-*) echo 350 ;;
    gemini-cli | opencode | qwen-code) echo 600 ;;
    aider | grade | mini-swe-agent | openhands) echo 1500 ;;
    *) echo 1000 ;;
    esac
}

# engine_folder: where the engine keeps its images, if that is a folder of this very machine.
engine_folder() {
    local said=() folder
    if [[ $ENGINE_CLI == podman ]]; then
        folder=$("$ENGINE_CLI" info --format '{{.Store.GraphRoot}}' 2>/dev/null || true)
    else
        mapfile -t said < <("$ENGINE_CLI" info --format '{{.Name}}{{println}}{{.DockerRootDir}}' 2>/dev/null)
        # Another machine may have a folder of that name as well.
        if [[ ${said[0]:-} == "$(uname -n)" ]]; then folder=${said[1]:-}; fi
    fi
    if [[ -n ${folder:-} && -d $folder ]]; then printf '%s' "$folder"; fi
}

free_mib() { df -Pm "$1" 2>/dev/null | awk 'NR == 2 {print $4}'; }

# need_room NAME...: those are about to be built. Ends with exit code 3 where the disk cannot take them.
need_room() {
    local name needed=0 folder free
    if [[ $# -eq 0 ]]; then return; fi
    folder=$(engine_folder)
    if [[ -z $folder ]]; then return; fi
    free=$(free_mib "$folder")
    for name in "$@"; do needed=$((needed + $(room_of "$name"))); done
    if [[ -z $free || $free -ge $needed ]]; then return; fi
    die "building $* needs about $needed MiB in $folder, and $free MiB are free" \
        "takeover gc --images removes images that are outdated, docker builder prune what builds have left behind."
}

# missing NAME...: those of the images, and of what they stand on, that are not there yet.
missing() {
    local name
    have_image "$(base_tag)" || echo base
    have_image "$(image_tag sandbox)" || echo sandbox
    for name in "$@"; do
        case $name in
        sandbox) ;;
        grade) have_image takeover-grade:latest || echo grade ;;
        *) if [[ -d $ROOT/$(image_dir "$name") ]]; then have_image "$(image_tag "$name")" || echo "$name"; fi ;;
        esac
    done
}
