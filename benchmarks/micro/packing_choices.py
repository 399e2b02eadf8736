# SPDX-License-Identifier: MIT
"""Bytes a value of the ways to pack a column that decision 0006 weighs: lengths of a mini-block, and what is done with
the values that would widen all others. A model of the sizes alone, in NumPy; bench_codec measures what was built.

    .venv/bin/python benchmarks/micro/packing_choices.py
"""

from __future__ import annotations

import numpy as np

ROWS = 200 * 512
EXCEPTIONS_MAX = 128
Keys = np.ndarray[tuple[int], np.dtype[np.uint64]]


def float_keys(values: np.ndarray[tuple[int], np.dtype[np.float32]]) -> Keys:
    bits = values.view(np.uint32)
    return np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31)).astype(np.uint64)


def bytes_of(block: Keys, head: int, exception: str) -> float:
    """One mini-block: the best width, with exceptions as 2 + all bytes of the value ("whole"), 2 + those above the
    width ("high"), or none ("no")."""
    block = np.sort(block)
    rows = len(block)
    full = int(block[-1] - block[0]).bit_length()
    best = np.ceil(rows * full / 8)
    for width in range(full - 1, -1, -1):
        if exception == "no":
            break
        ends = np.searchsorted(block, block + np.uint64(1 << width), "left")
        exceptions = rows - int((ends - np.arange(rows)).max())
        if exceptions > EXCEPTIONS_MAX:
            break
        each = 2 + ((full + 7) // 8 if exception == "whole" else (full - width + 8) // 8)
        best = min(best, np.ceil(rows * width / 8) + exceptions * each)
    return float(best) + head + (0 if exception == "no" else 1)


def a_value(keys: Keys, mini: int, head: int, exception: str) -> float:
    return sum(bytes_of(keys[at : at + mini], head, exception) for at in range(0, len(keys), mini)) / len(keys)


def main() -> None:
    random = np.random.default_rng(1)
    row = np.arange(ROWS)
    loss = ((0.3 + 2.2 * np.exp(-row / 25_000)) * (1 + 0.025 * random.normal(size=ROWS))).astype(np.float32)
    holes = loss.copy()
    holes[row % 1000 == 7] = np.nan
    spikes = loss.copy()
    spikes[row % 700 == 3] *= 100
    late = random.exponential(20, ROWS).astype(np.int64)
    pauses = np.where(row % 500 == 3, random.integers(0, 20_000, ROWS), 0)
    columns = {
        "noisy float32": (float_keys(loss), 5),
        "a NaN in 1,000": (float_keys(holes), 5),
        "a spike in 700": (float_keys(spikes), 5),
        "as bfloat16": (float_keys(loss) >> np.uint64(16), 3),
        "differences of times": ((1000 + late + pauses).astype(np.uint64), 6),
    }
    print(f"{'bytes a value':22}" + "".join(f"{e:>7}{m:>6}" for e in ("no", "whole", "high") for m in (256, 512, 1024)))
    for name, (keys, head) in columns.items():
        sizes = [a_value(keys, mini, head, e) for e in ("no", "whole", "high") for mini in (256, 512, 1024)]
        print(f"{name:22}" + "".join(f"{size:13.3f}" for size in sizes))


if __name__ == "__main__":
    main()
