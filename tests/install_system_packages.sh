#!/bin/sh
# Installs what tests need beside Python where that can be done (as root on Debian and its like), and says loudly where
# it cannot. Never fails: what is missing is skipped by the tests, which say so again.
missing=""
command -v postgres >/dev/null || ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || missing="$missing postgresql"
command -v redis-server >/dev/null || missing="$missing redis-server"
command -v chromium >/dev/null || missing="$missing chromium"
command -v java >/dev/null || missing="$missing default-jre-headless" # audits on Spark
command -v npm >/dev/null || missing="$missing npm"                   # the page of the studio

if [ -n "$missing" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing$missing for the tests …"
    export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 # no service is to be started; the tests start their own
    # shellcheck disable=SC2086 # the names are words
    timeout 600 sh -c "apt-get install -qq -y --no-install-recommends $missing >/dev/null 2>&1 ||
        { apt-get update -qq >/dev/null 2>&1 && apt-get install -qq -y --no-install-recommends $missing >/dev/null; }" &&
        missing=""
fi
[ -z "$missing" ] || echo "!!! CANNOT INSTALL$missing HERE: what needs it is NOT TESTED. !!!"

# What the studio's page is built and tested with.
web="$(dirname "$0")/../web"
if [ ! "$web/node_modules/.ready" -nt "$web/package-lock.json" ]; then
    if command -v npm >/dev/null && (cd "$web" && timeout 300 npm ci --ignore-scripts --silent); then
        touch "$web/node_modules/.ready"
    else
        echo "!!! CANNOT INSTALL the packages of web/ HERE: that the studio's page matches its source is NOT TESTED. !!!"
    fi
fi
exit 0
