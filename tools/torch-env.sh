#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Makes .venv-torch, of `make test-torch` and `make demo-server`: the current torch of the package index (about 5 GB, a
# minute), and what the server and the pages need. Remove the folder to get a newer torch.
set -euo pipefail
cd "$(dirname "$0")/.."

packages="torch numpy pillow pytest pytest-timeout fastapi uvicorn playwright"
if [ "$(cat .venv-torch/complete 2> /dev/null)" != "$packages" ]; then
  rm -rf .venv-torch
  .venv/bin/python -m venv .venv-torch
  # No cache: the download would take the disk space of torch a second time.
  # shellcheck disable=SC2086
  .venv-torch/bin/python -m pip --disable-pip-version-check install -q --no-cache-dir $packages
  echo "$packages" > .venv-torch/complete
fi
