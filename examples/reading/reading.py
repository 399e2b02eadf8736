# SPDX-License-Identifier: MIT
"""Everything docs/reading.md shows, on a run that is made here."""

import math
import tempfile
from pathlib import Path

import duckdb
import polars
import pyarrow
import tracker

run = tracker.init(project="mnist", id="reading", quiet=True, on_full="block")
for step in range(20_000):
    run.log({"loss": math.exp(-step / 5000) + 0.1 * math.sin(step), "epoch": step // 1000}, step=step)
    if step % 100 == 0:
        run.log({"val/loss": math.exp(-step / 6000), "val/acc": 1 - math.exp(-step / 4000)}, step=step)
run.finish()

# [sample]
r = tracker.open_run("mnist/reading")
loss = r.history("loss")  # loss.steps, loss.values, loss.times, loss.attempts, loss.ranks
start = r.history("loss", steps=(0, 999))  # both ends; steps=slice(0, 1000) is the same
first = r.history("loss", attempts=1, ranks=0)
day = r.history("loss", times=(loss.times[0], None))  # seconds since 1970, or datetimes
table = r.history(["loss", *r.series("val/*")])  # aligned by step: table.steps, table["val/acc"]
curve = r.history("val/acc", x="epoch")  # curve.x: joined on the step, sorted by epoch
# [/sample]
assert len(start) == 1000
assert len(first) == len(day) == 20_000
assert table.present["val/acc"].sum() == 200
assert curve.x is not None

# [sample]
frame = polars.DataFrame(loss)
arrow = pyarrow.table(table)
worst = duckdb.sql("SELECT step, value FROM loss ORDER BY value DESC LIMIT 3")
pandas_frame = table.to_pandas()  # indexed by step
# [/sample]
assert frame.shape == (20_000, 5)
assert arrow["val/acc"].null_count == 19_800
assert worst is not None
assert len(worst.fetchall()) == 3
assert len(pandas_frame) == 20_000

# [sample]
c = r.chart("loss", pixels=1000)  # exact cells: c.x0 .x1 .first .last .min .max .sum .count .nan .pos_inf .neg_inf
zoomed = r.chart("loss", lo=5_000, hi=5_500)  # few enough rows: all of them
smooth = r.chart("loss", smooth="ema", half_life=250)  # smooth.smoothed
own = loss.smooth("tensorboard", weight=0.9)  # a value for each row
# [/sample]
assert not c.is_points
assert c.count.sum() == 20_000
assert zoomed.is_points
assert smooth.smoothed is not None
assert len(own) == 20_000

kept = Path(tempfile.mkdtemp()) / "cursor"
# [sample]
tail = r.tail(["loss"], cursor=kept.read_text() if kept.exists() else None)
for rows in tail:  # waits for rows while the run lives, ends with it
    print(len(rows["loss"]), rows["loss"].values[-1])
    kept.write_text(tail.cursor)  # a reader that starts later goes on here
# [/sample]
kept.unlink()
kept.parent.rmdir()
