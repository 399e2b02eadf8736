# SPDX-License-Identifier: MIT
"""Goal: DataLoader workers of every start method neither hang nor write, and the parent's run is complete (P8, F9).

Method: a script that logs from several threads while a DataLoader with many workers runs; the data set collects
garbage and logs in the workers on purpose.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import tracker

LOADER = """
import gc, multiprocessing, sys, threading, torch, tracker

class Data(torch.utils.data.Dataset):
    run = None
    def __len__(self): return 256
    def __getitem__(self, i):
        gc.collect(0)
        if Data.run is not None:
            Data.run.log({"worker": i}, step=i)   # inherited by fork: inert there
        return torch.tensor(i)

def main(method, workers):
    run = tracker.init(project="loader", id="r", on_full="block")   # the machine may be busy: then wait, lose nothing
    if method == "fork":
        Data.run = run
    stop = threading.Event()
    counts = [0] * 4
    def log(k):
        handle = run.metric(f"t{k}")
        while not stop.is_set():
            handle.log(counts[k], counts[k])
            counts[k] += 1
            if counts[k] % 100 == 0:
                stop.wait(0.005)
    threads = [threading.Thread(target=log, args=(k,)) for k in range(4)]
    for t in threads: t.start()
    seen = 0
    for _ in range(2):
        loader = torch.utils.data.DataLoader(Data(), batch_size=8, num_workers=workers, multiprocessing_context=method)
        for batch in loader:
            seen += batch.numel()
            run.log({"seen": seen}, step=seen)
    stop.set()
    for t in threads: t.join()
    print(seen, *counts)
    run.finish()

if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
"""


@pytest.mark.parametrize(("method", "workers"), [("fork", 16), ("spawn", 2), ("forkserver", 2)])
def test_workers_neither_hang_nor_write_and_the_parent_is_complete(
    store: Path, launch, method: str, workers: int
) -> None:
    done = launch(LOADER, method, str(workers))
    assert done.returncode == 0, done.stderr
    seen, *counts = map(int, done.stdout.split())
    assert seen == 512
    (run,) = tracker.runs(dir=str(store))
    assert run.state == "finished"
    assert "worker" not in run.series() or method != "fork"
    for k, count in enumerate(counts):
        assert run.history(f"t{k}", all=True).values.tolist() == list(range(count))
    assert run.history("seen").steps.tolist() == list(range(8, 513, 8))


def test_a_forked_worker_says_once_that_it_records_nothing(store: Path, launch) -> None:
    done = launch(LOADER, "fork", "1")
    lines = [line for line in done.stderr.splitlines() if "forked process records nothing" in line]
    assert len(lines) == 2, done.stderr  # one worker process a pass over the data, two passes
