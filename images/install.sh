#!/bin/sh
# Runs inside image builds: installs the Debian packages that are missing, with the host's apt settings if it gave any.
set -eu
export DEBIAN_FRONTEND=noninteractive
if [ -s /run/secrets/apt_conf ]; then export APT_CONFIG=/run/secrets/apt_conf; fi

missing=
for package in "$@"; do
    dpkg -s "$package" >/dev/null 2>&1 || missing="$missing $package"
done
if [ -z "$missing" ]; then exit 0; fi
apt-get update -qq
# shellcheck disable=SC2086 # package names are words
apt-get install -y -qq --no-install-recommends $missing >/dev/null
rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/apt /var/log/dpkg.log /var/cache/ldconfig/aux-cache
