#!/usr/bin/env bash
# Builds images that are not there yet. Usage: images/build.sh [sandbox|grade|repos-PROJECT|AGENT]...
# An image is called takeover-NAME:HASH, HASH being that of its recipe; takeover-NAME:latest is the newest of them.
set -euo pipefail
# shellcheck source=images/lib.sh
source "$(dirname "$0")/lib.sh"
# shellcheck source=images/secrets.sh
source "$(dirname "$0")/secrets.sh"
# shellcheck source=images/room.sh
source "$(dirname "$0")/room.sh"

# Sets BUILD to the words that start a build with secrets: buildx, the builder inside an older docker command, podman.
choose_builder() {
    local cli version
    if "$ENGINE_CLI" version 2>/dev/null | grep -qi podman && command -v podman >/dev/null; then
        BUILD=(podman build)
        return 0
    fi
    if docker buildx version >/dev/null 2>&1; then
        BUILD=(docker buildx build --builder "$(docker context show 2>/dev/null || echo default)" --load)
        return 0
    fi
    for cli in docker /usr/bin/docker; do
        version=$("$cli" version --format '{{.Client.Version}}' 2>/dev/null || true)
        if [[ -n $version && ${version%%.*} -lt 23 ]]; then
            BUILD=(env DOCKER_BUILDKIT=1 "$cli" build)
            return 0
        fi
    done
    return 1
}

need_builder() {
    if [[ -n ${BUILD[*]:-} ]] || choose_builder; then return; fi
    if is_root && is_debian_like; then
        apt_install docker-buildx || apt_install docker.io || true
        if choose_builder; then return; fi
    fi
    die "this docker command cannot build images with secrets (BuildKit is missing)" \
        "Install the buildx plugin (Debian, Ubuntu: sudo apt-get install docker-buildx)"
}

# build TAG DOCKERFILE CONTEXT [ARGUMENT...]: the network is the host's, so that a proxy on it can be reached.
build() {
    local tag=$1 file=$2 context=$3 secrets log name words=()
    shift 3
    need_builder
    say "building $tag"
    # takeover gc --images knows by it what is ours.
    words+=(--label "takeover.image=$(cut -d: -f1 <<<"${tag#takeover-}")")
    secrets=$(mktemp -d)
    log=$secrets/log
    write_secrets "$secrets"
    for name in ca pip_conf npmrc apt_conf apt_sources; do words+=(--secret "id=$name,src=$secrets/$name"); done
    if ! "${BUILD[@]}" --network host "${words[@]}" "$@" --tag "$tag" --file "$ROOT/$file" "$ROOT/$context" >"$log" 2>&1 </dev/null; then
        tail -n 30 "$log" >&2
        rm -rf "$secrets"
        die "$tag could not be built; the builder's last lines are above"
    fi
    rm -rf "$secrets"
}

# recipe_label FILE: what the trusted side reads of a recipe, as one line of JSON.
recipe_label() {
    "$PYTHON" -c 'import json, sys, yaml; print(json.dumps(yaml.safe_load(sys.stdin), separators=(",", ":")))' <"$ROOT/$1"
}

# ensure NAME: the recipe's own tag, and `latest` on it.
ensure() {
    local name=$1 tag dir latest label words
    if [[ $name == grade ]]; then
        # Its recipe is the whole source tree: the builder's cache knows best what has changed.
        latest=$(image_id takeover-grade:latest)
        build takeover-grade:latest Dockerfile . --build-arg "BASE=$(base_tag)"
        if [[ -n $latest && $latest != "$(image_id takeover-grade:latest)" ]]; then
            "$ENGINE_CLI" image rm "$latest" >/dev/null 2>&1 || true # a container may still use it
        fi
        return
    fi
    dir=$(image_dir "$name")
    [[ -f $ROOT/$dir/Dockerfile ]] || die "there is no image recipe called $name" "Recipes: sandbox, images/repos-*, and the folders under images/agents that have a Dockerfile."
    tag=$(image_tag "$name")
    latest=takeover-$name:latest
    if ! have_image "$tag"; then
        if [[ $name == sandbox ]]; then
            build "$tag" "$dir/Dockerfile" images --build-arg "BASE=$(base_tag)"
        else
            ensure sandbox
            words=(--build-arg "SANDBOX=$(image_tag sandbox)")
            if [[ -f $ROOT/$dir/recipe.yaml ]]; then
                label=$(recipe_label "$dir/recipe.yaml") || die "$dir/recipe.yaml could not be read"
                words+=(--label "takeover.recipe=$label")
            fi
            build "$tag" "$dir/Dockerfile" images "${words[@]}"
        fi
    fi
    if [[ $(image_id "$tag") != "$(image_id "$latest")" ]]; then "$ENGINE_CLI" tag "$tag" "$latest"; fi
}

use_engine
mapfile -t absent < <(missing "$@")
need_room "${absent[@]}"
"$ROOT/images/base.sh"
for name in "${@:-sandbox}"; do ensure "$name"; done
