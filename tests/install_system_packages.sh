#!/bin/sh
# Installs what tests need beside Python where that can be done (as root on Debian and its like), and says loudly where
# it cannot. Never fails: what is missing is skipped by the tests, which say so again.
missing=""
command -v postgres >/dev/null || ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || missing="$missing postgresql"
command -v redis-server >/dev/null || missing="$missing redis-server"
command -v chromium >/dev/null || missing="$missing chromium"
command -v java >/dev/null || missing="$missing default-jre-headless" # audits on Spark
command -v npm >/dev/null || missing="$missing npm"                   # the page of the studio, coding agents

if [ -n "$missing" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing$missing for the tests …"
    export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 # no service is to be started; the tests start their own
    # shellcheck disable=SC2086 # the names are words
    timeout 600 sh -c "apt-get install -qq -y --no-install-recommends $missing >/dev/null 2>&1 ||
        { apt-get update -qq >/dev/null 2>&1 && apt-get install -qq -y --no-install-recommends $missing >/dev/null; }" &&
        missing=""
fi
[ -z "$missing" ] || echo "!!! CANNOT INSTALL$missing HERE: what needs it is NOT TESTED. !!!"

# The packages of npm that a folder's lock file names; what is not tested without them.
npm_packages() {
    folder="$(dirname "$0")/../$1"
    [ ! "$folder/node_modules/.ready" -nt "$folder/package-lock.json" ] || return 0
    if command -v npm >/dev/null && (cd "$folder" && timeout 300 npm ci --ignore-scripts --silent); then
        touch "$folder/node_modules/.ready"
    else
        echo "!!! CANNOT INSTALL the packages of $1/ HERE: $2 is NOT TESTED. !!!"
    fi
}
npm_packages web "that the studio's page matches its source"
npm_packages tests/coding_agents "accord in Claude Code"
exit 0
