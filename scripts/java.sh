#!/bin/sh
# Makes sure that Spark will find Java 17 or newer; installs the distribution's headless JRE if not.
set -eu
here=$(dirname "$0")

# Spark asks JAVA_HOME first and the PATH second; so does this.
java_version() {
    java=${JAVA_HOME:+$JAVA_HOME/bin/}java
    "$java" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p' | head -n 1
}

enough() {
    version=$(java_version)
    [ "${version:-0}" -ge 17 ]
}

enough && exit 0

if [ -n "${JAVA_HOME:-}" ]; then
    echo "==> JAVA_HOME is $JAVA_HOME, which is not Java 17 or newer: change or unset it" >&2
    exit 1
fi

# The default is 17 or newer on Debian 12 and later, and older on some relatives of it.
for package in default-jre-headless openjdk-17-jre-headless openjdk-21-jre-headless; do
    code=0
    "$here/apt.sh" "$package" || code=$?
    enough && exit 0
    [ "$code" -ne 2 ] || break
done
echo "==> Java 17 or newer is needed and could not be installed; install it and set JAVA_HOME" >&2
exit 1
