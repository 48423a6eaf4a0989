#!/bin/sh
# Installs Java (for Spark) and a browser for the tests of audits where that can be done (as root on Debian and its like),
# and says loudly where it cannot. Never fails: what is missing is skipped by the tests, which say so again.
missing=""
command -v java >/dev/null || missing="$missing default-jre-headless"
command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null ||
    missing="$missing chromium"
[ -z "$missing" ] && exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing$missing for the tests of audits …"
    export DEBIAN_FRONTEND=noninteractive
    # shellcheck disable=SC2086 # the names are words
    timeout 600 sh -c "apt-get install -qq -y --no-install-recommends $missing >/dev/null 2>&1 ||
        { apt-get update -qq >/dev/null 2>&1 && apt-get install -qq -y --no-install-recommends $missing >/dev/null; }" &&
        exit 0
fi
echo "!!! CANNOT INSTALL$missing HERE: the audits that need it are NOT TESTED. !!!"
exit 0
