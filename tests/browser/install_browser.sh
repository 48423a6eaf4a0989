#!/bin/sh
# Installs Chromium, node and npm for the tests of the studio's page where that can be done (as root on Debian and its
# like), then the page's packages, and says loudly where it cannot. Never fails: what is missing is skipped by the tests,
# which say so again.
missing=""
command -v chromium >/dev/null || missing="$missing chromium"
command -v node >/dev/null || missing="$missing nodejs"
command -v npm >/dev/null || missing="$missing npm"
if [ -n "$missing" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing$missing for the tests of the studio …"
    export DEBIAN_FRONTEND=noninteractive
    # shellcheck disable=SC2086 # the names are words
    timeout 300 sh -c "apt-get install -qq -y --no-install-recommends $missing >/dev/null 2>&1 ||
        { apt-get update -qq >/dev/null 2>&1 && apt-get install -qq -y --no-install-recommends $missing >/dev/null; }"
fi
command -v chromium >/dev/null || echo "!!! CANNOT INSTALL chromium HERE: the studio's page is NOT TESTED in a browser. !!!"

web="$(dirname "$0")/../../web"
if [ ! "$web/node_modules/.ready" -nt "$web/package-lock.json" ]; then
    if command -v npm >/dev/null && (cd "$web" && timeout 300 npm ci --ignore-scripts --silent); then
        touch "$web/node_modules/.ready"
    else
        echo "!!! CANNOT INSTALL the page's packages HERE: that the studio's page matches its source is NOT TESTED. !!!"
    fi
fi
exit 0
