# SPDX-License-Identifier: MIT
"""docs/formats/ is enough: a reader in plain Python, written from it alone, finds what tracker finds."""

from __future__ import annotations

import math
import random
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import tracker


@pytest.fixture
def second() -> Iterator[ModuleType]:
    folder = str(Path(__file__).parent.parent / "second_reader")
    sys.path.insert(0, folder)
    before = set(sys.modules)
    try:
        import run as module  # type: ignore[import-not-found]

        yield module
    finally:
        sys.path.remove(folder)
        for name in set(sys.modules) - before:
            if getattr(sys.modules[name], "__file__", "") and folder in (sys.modules[name].__file__ or ""):
                del sys.modules[name]


def bits(value: float) -> bytes:
    return struct.pack("<d", value)


def test_rows_and_config_are_the_same(second: ModuleType) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    logged: dict[str, list[tuple[int, Any]]] = {"loss": [], "count": [], "flag": [], "odd": []}
    run = tracker.init(project="formats", config={"lr": 0.1, "opt": {"name": "adam", "betas": [0.9, 0.99]}}, quiet=True)
    special = [math.nan, math.inf, -math.inf, -0.0, 5e-324, struct.unpack("<d", b"\x01\0\0\0\0\0\xf8\x7f")[0]]
    for step in range(3000):
        entry: dict[str, Any] = {"loss": rng.gauss(0, 1), "count": step * step - 7, "flag": step % 3 == 0}
        if rng.random() < 0.2:
            entry["odd"] = rng.choice(special)
        run.log(entry, step=step)
        for key, value in entry.items():
            logged[key].append((step, value))
        if step == 1500:
            run.config["opt/name"] = "sgd"
            run.flush()
    run.log({"note": "a text"}, step=1)
    folder = Path(run.dir)
    run.finish()

    found = second.read_run(folder)
    assert found.metrics() == sorted(logged)
    for key, rows in logged.items():
        mine = found.rows(key)
        assert [row.step for row in mine] == [step for step, _ in rows]
        if key in ("count", "flag"):
            assert [row.value for row in mine] == [value for _, value in rows]
        else:
            assert [row.bits.to_bytes(8, "little") for row in mine] == [bits(value) for _, value in rows]
    stored = tracker.open_run(run.uid)
    assert found.config() == dict(stored.config)
    assert found.identity["uid"] == run.uid
    texts = [event.payload["text"] for writer in found.writers for event in writer.events() if event.kind == 3]
    assert texts == ["a text"]
    ends = [event.payload["state"] for writer in found.writers for event in writer.events() if event.kind == 6]
    assert ends == ["finished"]
    assert found.dropped() == 0


def test_a_resumed_run_is_the_union_of_its_writers(second: ModuleType) -> None:
    first = tracker.init(project="formats", id="again", quiet=True)
    first.log({"loss": 1.0}, step=0)
    first.finish()
    later = tracker.init(project="formats", id="again", resume="must", quiet=True)
    later.log({"loss": 0.5}, step=1)
    folder = Path(later.dir)
    later.finish()
    found = second.read_run(folder)
    assert [writer.identity["attempt"] for writer in found.writers] == [1, 2]
    assert [(row.step, row.value) for row in found.rows("loss")] == [(0, 1.0), (1, 0.5)]
