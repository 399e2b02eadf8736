#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The tests that need torch, against the built wheel, in an environment of their own. Arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."

python=.venv-torch/bin/python
tools/torch-env.sh
.venv/bin/python tools/wheel.py
"$python" -m pip --disable-pip-version-check install -q --no-index --no-deps --force-reinstall dist/*.whl
"$python" -c 'import torch; print("torch", torch.__version__)'
# Warnings are no errors here: torch is not pinned, and its deprecations are not our faults.
exec "$python" -m pytest tests/torch -o filterwarnings=default "$@"
