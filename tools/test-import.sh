#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The tests that need TensorBoard, W&B, MLflow, Trackio, SwanLab, matplotlib, Plotly, tqdm and rich themselves, against
# the package in build/python, in an environment of their own: .venv-import, with what the package index has now. Remove
# the folder to get newer ones. Arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."

python=.venv-import/bin/python
if ! cmp -s tests/real_tools/requirements.in .venv-import/complete; then
  rm -rf .venv-import
  .venv/bin/python -m venv .venv-import
  "$python" -m pip --disable-pip-version-check install -q -r tests/real_tools/requirements.in
  cp tests/real_tools/requirements.in .venv-import/complete
fi
# Warnings are no errors here: those of the tools are not our faults.
PYTHONPATH="$PWD/build/python" exec "$python" -m pytest tests/real_tools -o filterwarnings=default -o addopts= "$@"
