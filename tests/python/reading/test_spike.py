# SPDX-License-Identifier: MIT
"""Goal: F26. Of a long series with one spike every chart shows the spike, at each zoom level, the first and the last
point are there, a repeated query gives the same cells, and rows appended to the live run change none of that.
Method: windows that halve around the spike until single rows are left, on a finished and on a live run, in narrow and
wide charts, held against NumPy. TRACKER_TEST_POINTS sets the length."""

from __future__ import annotations

import os
import random

import numpy as np
import tracker
from tracker._reading.stored_objects import StoredRun

POINTS = int(os.environ.get("TRACKER_TEST_POINTS", "2000000"))
SPIKE = 1e6


def check_zooms(r: StoredRun, values: np.ndarray, spike: int) -> int:
    """Windows around the spike from all rows down to one; how many."""
    zooms = 0
    width = len(values)
    while width >= 1:
        lo = max(0, spike - width // 2)
        hi = min(len(values) - 1, lo + width - 1)
        for pixels in (1, 200, 2000):
            c = r.chart("x", lo, hi, pixels)
            again = r.chart("x", lo, hi, pixels)
            for name in ("x0", "x1", "first", "last", "min", "max", "count"):
                np.testing.assert_array_equal(getattr(c, name), getattr(again, name))
            rows = values[lo : hi + 1]
            assert (c.min.min(), c.max.max()) == (rows.min(), rows.max())
            assert c.max.max() == SPIKE
            at = int(np.argmax(c.max))
            assert c.x0[at] <= spike <= c.x1[at]
            assert (c.x0[0], c.first[0], c.x1[-1], c.last[-1]) == (lo, rows[0], hi, rows[-1])
            assert int(c.count.sum()) == len(rows)
            zooms += 1
        width //= 2
    return zooms


def test_a_spike_shows_at_every_zoom_also_while_the_run_goes_on(patient_run: tracker.Run) -> None:
    seed = random.randrange(10**9)
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(POINTS)
    spike = int(rng.integers(1, POINTS - 1))
    values[spike] = SPIKE
    metric = patient_run.metric("x")
    half = POINTS // 2 if spike < POINTS // 2 else spike + 1  # the spike is logged when the first look is taken
    for step, value in enumerate(values[:half].tolist()):
        metric.log(value, step)
    patient_run.flush()
    assert check_zooms(tracker.open_run(patient_run.uid), values[:half], spike) > 30
    for step, value in enumerate(values[half:].tolist(), start=half):
        metric.log(value, step)
    patient_run.flush()
    assert check_zooms(tracker.open_run(patient_run.uid), values, spike) > 30
    patient_run.finish()
    assert check_zooms(tracker.open_run(patient_run.uid), values, spike) > 30
