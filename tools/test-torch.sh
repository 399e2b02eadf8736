#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The tests that need torch, against the built wheel, in an environment of their own: .venv-torch, with the current
# torch of the package index (about 5 GB, a minute). Remove the folder to get a newer one. Arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."

python=.venv-torch/bin/python
packages="torch numpy pillow pytest pytest-timeout fastapi uvicorn playwright"
if [ "$(cat .venv-torch/complete 2> /dev/null)" != "$packages" ]; then
  rm -rf .venv-torch
  .venv/bin/python -m venv .venv-torch
  # No cache: the download would take the disk space of torch a second time.
  # shellcheck disable=SC2086
  "$python" -m pip --disable-pip-version-check install -q --no-cache-dir $packages
  echo "$packages" > .venv-torch/complete
fi
.venv/bin/python tools/wheel.py
"$python" -m pip --disable-pip-version-check install -q --no-index --no-deps --force-reinstall dist/*.whl
"$python" -c 'import torch; print("torch", torch.__version__)'
# Warnings are no errors here: torch is not pinned, and its deprecations are not our faults.
exec "$python" -m pytest tests/torch -o filterwarnings=default "$@"
