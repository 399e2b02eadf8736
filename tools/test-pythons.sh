#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The Python tests under every CPython from 3.11 on that is found here, each in an environment of its own with the
# package installed by pip from the sources. Fails if one fails; a version that is not here is named as such.
set -uo pipefail
cd "$(dirname "$0")/.."

failed=0
for version in 3.11 3.12 3.13 3.14; do
  python=python$version
  # A pyenv shim is on the PATH also for versions that are not active; its interpreter lies in the versions folder.
  if ! "$python" -c '' 2>/dev/null; then
    python=$(ls -d "${PYENV_ROOT:-$HOME/.pyenv}/versions/$version".*/bin/python 2>/dev/null | tail -n 1)
  fi
  if [ -z "$python" ] || ! "$python" -c '' 2>/dev/null; then
    echo "python $version: not found"
    continue
  fi
  venv=.venv-$version
  log=build/logs/python-$version.log
  mkdir -p build/logs
  if { [ -x "$venv/bin/python" ] || "$python" -m venv "$venv"; } >"$log" 2>&1 &&
    "$venv/bin/python" -m pip install -q --require-hashes --only-binary :all: -r requirements.lock >>"$log" 2>&1 &&
    "$venv/bin/python" -m pip install -q --no-build-isolation --force-reinstall --no-deps . >>"$log" 2>&1 &&
    "$venv/bin/python" -m pytest tests/python -n 2 --dist loadfile >>"$log" 2>&1; then
    echo "python $version: $(tail -n 1 "$log")"
  else
    tail -n 40 "$log"
    echo "python $version: failed"
    failed=1
  fi
done
exit "$failed"
