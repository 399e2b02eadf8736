# SPDX-License-Identifier: MIT
"""Images, tables and the like through the same log()."""

# [sample]
import tracker

run = tracker.init(project="mnist")
pixels = [[(x + y) / 126 for x in range(64)] for y in range(64)]  # or an array of NumPy, torch, an image of Pillow
run.log({"samples": tracker.Image(pixels, caption="a gradient", boxes=[(4, 4, 20, 20)])}, step=1)
run.log({"weights": tracker.Histogram([0.1, 0.2, 0.2, 0.4]), "note": tracker.Markdown("**better**")}, step=1)
run.log({"errors": tracker.Table([["7", "1", 0.61], ["9", "4", 0.52]], columns=["true", "taken", "score"])}, step=1)
run.finish()
(entry,) = tracker.open_run(f"mnist/{run.id}").media("errors")
print(entry.step, entry.kind, entry.load().to_rows())
# [/sample]
