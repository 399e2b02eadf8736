# SPDX-License-Identifier: MIT
"""What fit.py has logged, read back. Run: python read.py"""

# [sample]
import tracker

run = tracker.open_run("line/first")
print(run.state, run.summary["line"])
loss = run.history("loss")  # NumPy arrays: loss.steps, loss.values, loss.times
chart = run.chart("loss", pixels=500, smooth="ema", half_life=50)
print(len(loss), "points,", len(chart.x0), "cells, least", chart.min.min())
# [/sample]
