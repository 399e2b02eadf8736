# SPDX-License-Identifier: MIT
"""What a run ran on, and how busy that was. Run: python surroundings.py"""

import time

import tracker

with tracker.init(project="mnist", id="watched", resume="allow", system_interval=0.2) as run:
    now = tracker.open_run("mnist/watched")
    while not (now.series("system/proc.rss.*", system=True) and "python" in now.environment):
        time.sleep(0.1)  # your training

# [sample]
stored = tracker.open_run("mnist/watched")
host, python = stored.environment["host"], stored.environment["python"]
print(host["cpus"], "CPUs, Python", python["version"])
print(stored.series("system/proc.*", system=True))
memory = stored.history("system/proc.rss.bytes")  # memory.times, memory.values
# [/sample]
assert len(memory.values) > 0
