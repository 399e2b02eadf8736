# SPDX-License-Identifier: MIT
"""docs/formats/ is enough: a reader in plain Python, written from it alone, finds what tracker finds."""

from __future__ import annotations

import hashlib
import json
import math
import random
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import tracker

Script = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def second() -> Iterator[ModuleType]:
    folder = str(Path(__file__).parents[2] / "second_reader")
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


def test_lost_texts_are_no_points(second: ModuleType) -> None:
    run = tracker.init(project="formats", quiet=True, on_full="drop")
    step = 0
    while run.status().texts_dropped == 0:
        for _ in range(100):
            run.log({"note": "x" * 60_000}, step=step)
            step += 1
    folder = Path(run.dir)
    run.finish()
    status = run.status()
    found = second.read_run(folder)
    assert (found.dropped(), found.texts_dropped()) == (0, status.texts_dropped)
    assert len(found.texts()) == status.texts_stored == step - status.texts_dropped


def test_rows_and_config_are_the_same(second: ModuleType) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    logged: dict[str, list[tuple[int, Any]]] = {"loss": [], "count": [], "flag": [], "odd": []}
    logged |= {"lr": [], "acc": [], "percent": []}
    run = tracker.init(project="formats", config={"lr": 0.1, "opt": {"name": "adam", "betas": [0.9, 0.99]}}, quiet=True)
    special = [math.nan, math.inf, -math.inf, -0.0, 5e-324, struct.unpack("<d", b"\x01\0\0\0\0\0\xf8\x7f")[0]]
    for step in range(3000):
        entry: dict[str, Any] = {"loss": rng.gauss(0, 1), "count": step * step - 7, "flag": step % 3 == 0}
        entry["lr"] = 0.5e-3 * (1 + math.cos(math.pi * step / 3000))
        entry["acc"] = math.nan if rng.random() < 0.05 else round(rng.random(), 4)
        entry["percent"] = round(rng.random(), 4) * 100
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


@pytest.mark.parametrize("kind", ["sqlite", "frames"])
def test_the_parts_of_a_writers_files_are_one_log(
    second: ModuleType, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setenv("TRACKER_STORE_FILES", kind)
    run = tracker.init(project="formats", config={"lr": 0.1}, quiet=True)
    folder = Path(run.dir)
    for part in range(3):
        for step in range(100 * part, 100 * part + 100):
            run.log({"loss": step / 7, "note": "a text"} if step % 10 == 0 else {"loss": step / 7}, step=step)
        assert run.flush()
        newest = max((path for path in folder.iterdir() if path.suffix in (".db", ".frames")), key=_part)
        if part == 0:
            newest.unlink()
        elif part == 1:
            shutil.copyfile(newest, newest.with_suffix(".copy"))
            newest.with_suffix(".copy").replace(newest)
    run.finish()
    status = run.status()
    found = second.read_run(folder)
    assert len(found.writers) == 1
    assert (len(found.rows("loss")), found.dropped()) == (status.points_stored, status.points_dropped)
    assert (len(found.texts()), found.texts_dropped()) == (status.texts_stored, status.texts_dropped)
    assert found.config() == {"lr": 0.1}
    stored = tracker.open_run(run.uid)
    assert [row.step for row in found.rows("loss")] == list(stored.history("loss").steps)
    assert stored.losses.dropped == found.dropped() >= 100


def _part(path: Path) -> int:
    return int(path.stem[33:] or 1)


def test_levels_are_those_of_the_rows(second: ModuleType) -> None:
    run = tracker.init(project="formats", quiet=True)
    values: list[list[float]] = [[], []]
    for i in range(30_000):
        values[0].append(math.sin(i / 500))
        run.log({"even": values[0][-1]}, step=3 * i - 1000)
        if i % 3 == 0:
            values[1].append(math.nan if i % 700 == 0 else i / 7)
            run.log({"uneven": values[1][-1]}, step=i + i % 2)
    folder = Path(run.dir)
    run.finish()
    (writer,) = second.read_run(folder).writers
    assert {series for series, level, _ in writer.levels if level == 1} == {1, 2}
    assert {level for series, level, _ in writer.levels if series == 1} >= {1, 3}
    for (series, level, first_seq), cells in writer.levels.items():
        assert cells.over_times == (level >= 2)
        begin = writer.levels[series, 1, first_seq]
        rows = writer.rows("even" if series == 1 else "uneven")
        rows = [row for row in rows if begin.x_first <= row.step <= begin.x_last]
        assert len(rows) == cells.rows == sum(cells.counts), (series, level)
        xs = [row.time_us if cells.over_times else row.step for row in rows]
        assert (xs[0], xs[-1]) == (cells.x_first, cells.x_last)
        for i, count in enumerate(cells.counts):
            of, rows = rows[:count], rows[count:]
            x, xs = xs[:count], xs[count:]
            assert (x[0], x[-1], of[0].bits, of[-1].bits) == (
                *(cells.x0[i], cells.x1[i]),
                *(cells.first[i], cells.last[i]),
            )
            assert len({at >> cells.shift for at in x}) == 1
            finite = [row.value for row in of if math.isfinite(row.value)]
            assert bits(min(finite)) == cells.least[i].to_bytes(8, "little")
            assert bits(max(finite)) == cells.greatest[i].to_bytes(8, "little")
            assert struct.unpack("<d", cells.sums[i].to_bytes(8, "little"))[0] == pytest.approx(math.fsum(finite))
            if cells.not_finite:
                assert [counts[i] for counts in cells.not_finite] == [len(of) - len(finite), 0, 0]


def test_the_second_reader_finds_the_same_media(second: ModuleType) -> None:
    run = tracker.init(project="formats", quiet=True)
    for step in range(3):
        pixels = np.full((4, 4), step, np.uint8)
        run.log({"image": tracker.Image(pixels, caption="c", masks={"m": pixels}), "loss": 0.5}, step=step)
        run.log({"note": [tracker.Text("a"), tracker.Histogram([0.5, 1.5])]}, step=step)
    run.finish(timeout=60)
    found = second.read_run(Path(run.dir)).media()
    stored = tracker.open_run(run.uid)
    mine = [(name, e.step, e.info) for name in stored.media_names() for e in stored.media(name)]
    assert sorted(found, key=repr) == sorted(mine, key=repr)
    for name, step, value in found:
        if name != "image":
            continue
        path = Path(run.dir) / "media" / value["digest"][:2] / f"{value['digest']}.{value['ext']}"
        data = path.read_bytes()
        assert hashlib.sha256(data).hexdigest() == value["digest"], step
        assert len(data) == value["bytes"]


# Bug: the end of a run found no room in a journal that was full, and the run was called crashed.
@pytest.mark.parametrize("command", [False, True])
def test_the_end_of_a_run_that_could_not_be_stored_is_found_in_its_journal(
    script: Script, own_shm: Path, second: ModuleType, command: bool
) -> None:
    ended = script("""
        import os, resource, tracker
        run = tracker.init(project="ends", id="r", quiet=True, on_full="drop")
        run.log({"x": 0.0}, step=0)
        assert run.flush(20)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))  # as a full disk and a full /dev/shm
        step = 0
        while run.status().points_dropped == 0:
            for _ in range(1000):
                step += 1
                run.log({"x": float(step)}, step=step)
        tracker.finish(exit_code=3)
        status = run.status()
        print(run.dir, status.points_logged, status.points_dropped, flush=True)
        os._exit(0)
        """)
    folder, logged, dropped = ended.stdout.split()
    journals = next(own_shm.glob("tracker-*"))
    said = [event for event in second.read_run(Path(folder), journals).writers[0].events() if event.kind == 6]
    assert [event.payload["state"] for event in said] == ["failed"]
    if command:
        shown = subprocess.run(
            [sys.executable, "-m", "tracker", "show", "ends/r", "--json"], capture_output=True, text=True, check=True
        )
        assert json.loads(shown.stdout)["state"] == "failed"
    run = tracker.open_run("ends/r")
    assert (run.state, run.state_detail) == ("failed", "exit code 3")
    assert (run.losses.logged, run.losses.dropped) == (int(logged), int(dropped))


def test_keys_of_a_config_are_paths_and_a_project_may_be_called_anything(second: ModuleType) -> None:
    config = {"a/b": 1, "c": {"d/e": 2, "f": {}}, "/g": 3, "h/": 4, "i//j": 5, "k": {"l": {"m": 6}}, "ü": {"": 7}}
    run = tracker.init(project="pröj/x y%?#", quiet=True, config=config)
    run.config["a/b"] = 8
    run.config.update({"c/d": {"z": 9}, "k": {"l": 10}})
    folder = Path(run.dir)
    run.finish()
    stored = dict(tracker.open_run(run.uid).config)
    assert second.read_run(folder).config() == stored
    assert stored["a"] == {"b": 8}
    assert stored["c"] == {"d": {"e": 2, "z": 9}, "f": {}}


def test_the_batch_in_the_documentation_of_http_is_one(second: ModuleType) -> None:
    import batch  # type: ignore[import-not-found]

    docs = Path(__file__).parents[3] / "docs" / "formats"
    example = (docs / "http.md").read_text().split("### A worked example")[1].split("```")[1]
    of_frame = (docs / "frame.md").read_text().split("## A worked example")[1].split("```")[1]
    whole = example_bytes(example.replace("5446524d …", example_bytes(of_frame).hex()))
    head, units = batch.read_batch(whole)
    assert head["writer"]["run"]["id"] == "brisk-otter"
    assert [(unit.kind, unit.prev, unit.first, unit.last, unit.lost) for unit in units] == [(batch.FRAME, 0, 1, 1, 0)]
    assert units[0].frame().names == {1: ("loss", 1)}


def example_bytes(text: str) -> bytes:
    """The bytes of a worked example: of each line the offset, digits in groups, and after two blanks words."""
    out = b""
    for line in text.strip().splitlines():
        for word in line.split()[1:]:
            try:
                out += bytes.fromhex(word)
            except ValueError:
                break
    return out
