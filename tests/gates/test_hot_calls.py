# SPDX-License-Identifier: MIT
"""A hot call does not get dearer unnoticed.

Method: benchmarks/gate/hot_calls.py counts the instructions of one call under valgrind and compares with the
committed baseline; 5 % worse fails. The counting itself is tested on a written profile.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from conditions import INSTRUCTION_BASELINE, skip_where

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks" / "gate"))

import hot_calls


# Promise P4: A call executes no more instructions than the baseline allows.
@pytest.mark.parametrize("name", list(hot_calls.CASES))
def test_call_executes_no_more_instructions_than_the_baseline_allows(name: str) -> None:
    import json

    assert shutil.which("valgrind"), "make deps installs valgrind"
    baseline = json.loads(hot_calls.BASELINE.read_text()).get(hot_calls.compiler(), {}).get(name)
    skip_where(baseline is None, INSTRUCTION_BASELINE)
    passed, line = hot_calls.verdict(name, hot_calls.count(name), baseline)
    print(line)
    assert passed, line


PROFILE = """\
ob=(1) /lib/libpython.so
fn=(1) eval
10 1000
ob=(2) /build/_core.cpython-311.so
fn=(2) run_log
+3 40
cob=(1)
cfn=(3) PyDict_Next
calls=1 20
* 700
* 2
-1 8
ob=(1)
fn=(3)
20 700
ob=(2)
fn=(2)
30 50
"""


def test_only_the_self_cost_of_our_objects_is_counted() -> None:
    assert hot_calls.own_instructions(PROFILE) == 100


def test_verdict_allows_five_percent() -> None:
    assert hot_calls.verdict("call", 104.9, 100.0)[0]
    assert not hot_calls.verdict("call", 105.1, 100.0)[0]
    assert "--update" in hot_calls.verdict("call", 90.0, 100.0)[1]
