#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Makes a machine ready: Debian packages from tools/apt-packages.txt and apt-packages-test.txt, then .venv from
# requirements.lock. Does nothing, in well under a second, when all of it is there. `setup.sh --full` also takes
# apt-packages-full.txt; `setup.sh --demo` takes only what a build and the demo need, with requirements-demo.lock.
# PYTHON names the interpreter of .venv (default python3); it must be 3.11 or newer.
set -euo pipefail
cd "$(dirname "$0")/.."

lists=(tools/apt-packages.txt)
lock=requirements-demo.lock
if [ "${1:-}" != "--demo" ]; then
  lists+=(tools/apt-packages-test.txt)
  lock=requirements.lock
fi
if [ "${1:-}" = "--full" ]; then lists+=(tools/apt-packages-full.txt); fi

missing_packages() {
  local wanted installed
  wanted=$(cat "${lists[@]}" | sed 's/#.*//; s/[[:space:]]//g; /^$/d' | sort -u)
  # dpkg-query exits 1 when it does not know a name at all; that name is then simply not in its output.
  # shellcheck disable=SC2086
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $wanted 2>/dev/null |
    sed -n 's/^installed //p' | sort -u) || true
  comm -23 <(echo "$wanted") <(echo "$installed") | xargs
}

install_packages() {
  if ! command -v dpkg-query >/dev/null; then
    echo "setup: no dpkg here; install the counterparts of ${lists[*]} yourself" >&2
    return
  fi
  local missing root=()
  missing=$(missing_packages)
  if [ -z "$missing" ]; then return; fi
  if [ "$(id -u)" != 0 ]; then
    # Without a terminal sudo must not stop at a password prompt that nobody sees.
    if command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
      root=(sudo)
    else
      echo "setup: these packages are missing and there is neither root nor sudo to install them:" >&2
      echo "  apt-get install $missing" >&2
      exit 1
    fi
  fi
  echo "setup: installing $missing"
  local apt=("${root[@]}" env DEBIAN_FRONTEND=noninteractive
    apt-get -qq -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
  "${apt[@]}" update
  # shellcheck disable=SC2086
  "${apt[@]}" install -y --no-install-recommends $missing >/dev/null
}

make_venv() {
  local python=${PYTHON:-python3} version stamp
  if ! version=$("$python" -c 'import sys; print(sys.version); sys.exit(sys.version_info < (3, 11))'); then
    echo "setup: $python must be CPython 3.11 or newer (found: ${version:-none}); name another by PYTHON=" >&2
    exit 1
  fi
  # An environment of the tests serves the demo too; the demo's grows into it.
  stamp="$(sha256sum <"$lock") $version"
  if [ -x .venv/bin/python ] && grep -qxF "$stamp" .venv/stamp 2>/dev/null; then return; fi
  echo "setup: .venv from $lock"
  if ! grep -qF "$version" .venv/stamp 2>/dev/null; then
    rm -rf .venv
    "$python" -m venv .venv
  fi
  .venv/bin/python -m pip --disable-pip-version-check install -q --require-hashes --only-binary :all: -r "$lock"
  if [ "$lock" = requirements.lock ]; then rm -f .venv/stamp; fi
  for done in requirements-demo.lock "$lock"; do echo "$(sha256sum <"$done") $version"; done >>.venv/stamp
}

install_packages
make_venv
