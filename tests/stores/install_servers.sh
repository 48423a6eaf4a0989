#!/bin/sh
# Installs PostgreSQL and Redis for the tests of stores where that can be done (as root on Debian and its like), and
# says loudly where it cannot. Never fails: what is missing is skipped by the tests, which say so again.
missing=""
command -v postgres >/dev/null || ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || missing="$missing postgresql"
command -v redis-server >/dev/null || missing="$missing redis-server"
[ -z "$missing" ] && exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing$missing for the tests of stores …"
    export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 # no service is to be started; the tests start their own
    # shellcheck disable=SC2086 # the names are words
    timeout 300 sh -c "apt-get install -qq -y --no-install-recommends $missing >/dev/null 2>&1 ||
        { apt-get update -qq >/dev/null 2>&1 && apt-get install -qq -y --no-install-recommends $missing >/dev/null; }" &&
        exit 0
fi
echo "!!! CANNOT INSTALL$missing HERE: the stores that need it are NOT TESTED. !!!"
exit 0
