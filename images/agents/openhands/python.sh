#!/bin/sh
# Runs inside the image's build: installs packages of Debian 13 in Debian 12, for OpenHands needs Python 3.12 or newer.
# The mirror is the one that the build was given; `python3` stays what it was.
set -eu
export DEBIAN_FRONTEND=noninteractive
if [ -s /run/secrets/apt_conf ]; then export APT_CONFIG=/run/secrets/apt_conf; fi

newer() { apt-get -qq -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts=/tmp/debian13 "$@"; }

mkdir -p /tmp/debian13
if [ -s /run/secrets/apt_sources ]; then
    sed 's/bookworm/trixie/' /run/secrets/apt_sources >/tmp/debian13/debian.list
else
    sed 's/bookworm/trixie/' /etc/apt/sources.list.d/debian.sources >/tmp/debian13/debian.sources
fi
newer update
newer install -y --no-install-recommends "$@" >/dev/null
rm -rf /tmp/debian13 /var/lib/apt/lists/* /var/cache/apt/* /var/log/apt /var/log/dpkg.log /var/cache/ldconfig/aux-cache
