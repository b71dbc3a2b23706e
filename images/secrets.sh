# Sourced by build.sh and base.sh: the host's own package settings, written as files for one build.
# They are mounted as BuildKit secrets, so no layer and no history holds an index, a proxy or a certificate.
# shellcheck shell=bash

# The suites of Debian 12 at the mirrors this host itself uses for Debian; nothing where it uses none.
debian_sources() {
    command -v apt-get >/dev/null || return 0
    # shellcheck disable=SC2016 # apt's own placeholders
    apt-get indextargets --format '$(REPO_URI) $(SUITE)' 'Created-By: Packages' 'Origin: Debian' 2>/dev/null | sort -u |
        while read -r uri suite; do
            case $suite in
            *-security) echo "deb $uri bookworm-security main" ;;
            *-updates) echo "deb $uri bookworm-updates main" ;;
            *-* | */* | experimental) ;;
            *) echo "deb $uri bookworm main" ;;
            esac
        done | sort -u
}

# apt's settings for reaching its sources: proxies, and how strictly dates are checked.
apt_settings() {
    local name value
    if command -v apt-config >/dev/null; then
        apt-config dump 2>/dev/null | grep -E '^Acquire::((https?|ftp)::(Proxy|Verify)|Check-(Date|Valid-Until)|Retries)' |
            grep -v 'Proxy-Auto-Detect' || true
    fi
    for name in http https; do
        value=${name}_proxy
        if [[ -n ${!value:-} ]]; then printf 'Acquire::%s::Proxy "%s";\n' "$name" "${!value}"; fi
    done
}

# The bundle that the host's tools trust, when somebody set one; the distribution's own otherwise.
ca_bundle() {
    local file
    for file in "${PIP_CERT:-}" "${SSL_CERT_FILE:-}" "${REQUESTS_CA_BUNDLE:-}" "${CURL_CA_BUNDLE:-}" \
        "$("$PYTHON" -m pip config get global.cert 2>/dev/null || true)" /etc/ssl/certs/ca-certificates.crt; do
        if [[ -n $file && -s $file ]]; then
            printf '%s' "$file"
            return
        fi
    done
}

# pip's settings for reaching its index, the environment's before the files'; what lies on the host's own disk
# means nothing in a build.
pip_settings() {
    local name value listed
    listed=$("$PYTHON" -m pip config list 2>/dev/null || true)
    echo '[global]'
    if [[ -s $1/ca ]]; then echo 'cert = /run/secrets/ca'; fi
    for name in index-url extra-index-url trusted-host proxy; do
        value=$(sed -nE "s/^(:env:|global|install)\\.$name='(.*)'\$/\\1 \\2/p" <<<"$listed" | LC_ALL=C sort | sed -n '1s/^[^ ]* //p')
        value=$(tr ' ' '\n' <<<"$value" | grep -v '^file:' | paste -sd ' ' || true)
        if [[ -n $value ]]; then echo "$name = $value"; fi
    done
    value=${https_proxy:-${http_proxy:-}}
    if [[ -n $value ]]; then echo "proxy = $value"; fi
}

# npm's settings for reaching its registry; a registry's word (`//host/:_authToken`) with what it takes from the environment.
npm_settings() {
    local file line name
    if [[ -s $1/ca ]]; then echo 'cafile=/run/secrets/ca'; fi
    if ! command -v npm >/dev/null; then
        if [[ -n ${npm_config_registry:-} ]]; then echo "registry=$npm_config_registry"; fi
        if [[ -n ${https_proxy:-${http_proxy:-}} ]]; then echo "https-proxy=${https_proxy:-$http_proxy}"; fi
        return 0
    fi
    { npm config get registry proxy https-proxy noproxy strict-ssl 2>/dev/null || true; } |
        grep -E '^[a-z-]+ *= *[^ ]' | grep -vE '= *(null|undefined)$' | sed -E 's/ *= */=/' || true
    file=$(npm config get userconfig 2>/dev/null || true)
    if [[ ! -r $file ]]; then return 0; fi
    while IFS= read -r line; do
        while [[ $line =~ \$\{([A-Za-z_][A-Za-z_0-9]*)\} ]]; do
            name=${BASH_REMATCH[1]}
            line=${line//"${BASH_REMATCH[0]}"/${!name:-}}
        done
        printf '%s\n' "$line"
    done < <(grep -E '^//[^=]*:(_authToken|_auth|username|_password|always-auth) *=' "$file" || true)
}

# write_secrets FOLDER: the files ca, pip_conf, npmrc, apt_conf and apt_sources, each possibly empty.
write_secrets() {
    local dir=$1 bundle
    bundle=$(ca_bundle)
    if [[ -n $bundle ]]; then cp "$bundle" "$dir/ca"; else : >"$dir/ca"; fi
    pip_settings "$dir" >"$dir/pip_conf"
    npm_settings "$dir" >"$dir/npmrc"
    {
        apt_settings
        if [[ -s $dir/ca ]]; then echo 'Acquire::https::CaInfo "/run/secrets/ca";'; fi
    } >"$dir/apt_conf"
    debian_sources >"$dir/apt_sources"
    if [[ -s $dir/apt_sources ]]; then
        printf '%s\n' 'Dir::Etc::sourcelist "/run/secrets/apt_sources";' 'Dir::Etc::sourceparts "-";' >>"$dir/apt_conf"
    fi
}
