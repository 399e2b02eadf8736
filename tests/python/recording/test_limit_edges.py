# SPDX-License-Identifier: MIT
"""Goal: more of the limits at their edge: what the limit allows is taken whole, one more is what the
table says. Method: as test_limits.py, for limits that take more data, with the name of each in the code."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tracker
from tracker._plain_values import ARRAY_ITEMS_MAX, DEPTH_MAX, REPR_CHARS_MAX, VALUES_MAX

Script = Callable[..., "subprocess.CompletedProcess[str]"]

MIB = 2**20
K_SERIES_MAX = 262_144  # kSeriesMax
K_LARGE_BYTES_MAX = 16 * MIB  # kLargeBytesMax
K_REGEX_BYTES_MAX = 1000  # kRegexBytesMax
K_REGEX_TEXT_BYTES_MAX = MIB  # kRegexTextBytesMax
K_SORT_FIELDS_MAX = 8  # kSortFieldsMax
K_COLUMN_FIELDS_MAX = 100  # kColumnFieldsMax
K_TRASH_DEPTH_MAX = 64  # kTrashDepthMax


def stored(run: tracker.Run) -> Any:
    run.finish()
    return tracker.open_run(run.uid)


def test_a_process_may_have_262144_metrics(patient_run: tracker.Run, capfd: pytest.CaptureFixture[str]) -> None:
    run = patient_run
    run.log({f"k/{i}": 0.5 for i in range(K_SERIES_MAX)}, step=0)
    assert run.status().points_dropped == 0
    run.log({"one more": 1.0, "k/7": 2.0}, step=1)
    run.log({"one more": 1.0, "k/7": 1}, step=2)  # another type of a metric is another series
    assert run.status().points_dropped == 3
    assert run.flush(60)
    account = run.status(series=True).series
    assert account is not None
    assert account[""].dropped == 3
    assert account["k/7"].stored == 2
    assert capfd.readouterr().err.count("no more metrics can be defined") == 1
    read = stored(run)
    assert read.points == K_SERIES_MAX + 1
    assert read.losses.by_reason == {"too many metrics": 3}


def test_16_mib_of_large_texts_may_wait_for_the_disk(store: Path) -> None:
    store.write_text("a file where the store should be")
    run = tracker.init(project="test", quiet=True)
    overhead = 64  # of the map that a text is stored as
    run.log({"t": "x" * (K_LARGE_BYTES_MAX - overhead)}, step=0)
    assert run.status().texts_dropped == 0
    run.log({"t": "x" * K_LARGE_BYTES_MAX}, step=1)
    assert (run.status().texts_dropped, run.status().texts_pending) == (1, 1)
    store.unlink()
    assert run.flush(30)
    run.log({"t": "x" * 100_000}, step=2)
    assert [row.step for row in stored(run).texts("t")] == [0, 2]


def test_a_config_array_of_1000_items_is_kept_and_one_more_is_shown_as_text() -> None:
    arrays = {str(size): np.arange(size) for size in (ARRAY_ITEMS_MAX, ARRAY_ITEMS_MAX + 1)}
    config = stored(tracker.init(project="test", quiet=True, config=arrays)).config
    assert config[str(ARRAY_ITEMS_MAX)] == list(range(ARRAY_ITEMS_MAX))
    assert isinstance(config[str(ARRAY_ITEMS_MAX + 1)], str)


def test_the_text_of_an_object_is_cut_at_1000_characters() -> None:
    class Shown:
        def __init__(self, size: int) -> None:
            self.size = size

        def __repr__(self) -> str:
            return "é" * self.size

    values = {str(size): {Shown(size)} for size in (REPR_CHARS_MAX, REPR_CHARS_MAX + 1)}
    config = stored(tracker.init(project="test", quiet=True, config=values)).config
    assert config[str(REPR_CHARS_MAX)] == ["é" * REPR_CHARS_MAX]
    assert config[str(REPR_CHARS_MAX + 1)] == ["é" * (REPR_CHARS_MAX - 1) + "…"]


def test_a_config_value_may_be_nested_32_deep() -> None:
    def nested(depth: int) -> Any:
        value: Any = 7
        for _ in range(depth):
            value = [value]
        return value

    # The config itself is the first level.
    values = {"edge": nested(DEPTH_MAX - 1), "deeper": nested(DEPTH_MAX)}
    config = stored(tracker.init(project="test", quiet=True, config=values)).config
    assert config["edge"] == nested(DEPTH_MAX - 1)
    assert str(config["deeper"]).count("[") == DEPTH_MAX
    assert config["deeper"] != nested(DEPTH_MAX)


def test_a_config_may_have_1_000_000_values_and_a_list_or_dict_that_would_go_beyond_is_not_followed() -> None:
    edge = list(range(VALUES_MAX - 2))
    config = stored(tracker.init(project="test", quiet=True, config={"edge": edge, "one": 1})).config
    assert config == {"edge": edge, "one": 1}
    config = stored(
        tracker.init(project="test", quiet=True, config={"edge": [*edge, 0], "two": {"x": 1}, "y": 2})
    ).config
    assert config == {"edge": "[...]", "two": {"x": 1}, "y": 2}
    shared: dict[str, Any] = {"x": 1}
    for _ in range(DEPTH_MAX - 3):
        shared = {"left": shared, "right": shared}
    stored(tracker.init(project="test", quiet=True, config={"tree": shared}))


def test_an_order_may_have_8_fields_and_a_list_100_columns(script: Script) -> None:
    def fields(count: int) -> str:
        return ",".join(f"config.c{i}" for i in range(count))

    config = {f"c{i}": i for i in range(K_SORT_FIELDS_MAX + 1)}  # what no run has is warned of
    stored(tracker.init(project="test", quiet=True, config=config))
    assert len(list(tracker.runs(project="test", sort=fields(K_SORT_FIELDS_MAX)))) == 1
    with pytest.raises(tracker.LimitError, match="more than 8 fields"):
        list(tracker.runs(project="test", sort=fields(K_SORT_FIELDS_MAX + 1)))
    for count in (K_COLUMN_FIELDS_MAX, K_COLUMN_FIELDS_MAX + 1):
        command = "import sys, tracker.__main__; tracker.__main__.main()"
        done = script(command, "ls", "--columns", fields(count))
        assert (done.returncode == 0) == (count == K_COLUMN_FIELDS_MAX), done.stderr
        assert ("more than 100 fields" in done.stderr) == (count > K_COLUMN_FIELDS_MAX)


def test_a_regular_expression_sees_the_first_mebibyte_of_a_text() -> None:
    edge = "x" * (K_REGEX_TEXT_BYTES_MAX - 1)
    stored(tracker.init(project="test", id="seen", quiet=True, config={"note": edge + "Y"}))
    stored(tracker.init(project="test", id="beyond", quiet=True, config={"note": edge + "xY"}))
    assert [found.id for found in tracker.runs(project="test", where="config.note ~ 'Y'")] == ["seen"]


def test_a_regular_expression_may_have_1000_bytes_and_compile_to_a_mebibyte() -> None:
    stored(tracker.init(project="test", quiet=True, config={"note": "y" * K_REGEX_BYTES_MAX}))
    assert len(list(tracker.runs(where=f"config.note ~ '{'y' * K_REGEX_BYTES_MAX}'"))) == 1
    with pytest.raises(ValueError, match="1000"):
        list(tracker.runs(where=f"config.note ~ '{'y' * (K_REGEX_BYTES_MAX + 1)}'"))
    with pytest.raises(ValueError, match="no regular expression"):  # kRegexMemoryBytesMax
        list(tracker.runs(where=r"config.note ~ '((\pL{100}){10}){10}'"))


def test_folders_of_a_run_are_removed_64_deep(script: Script) -> None:
    for name, depth in (("edge", K_TRASH_DEPTH_MAX), ("deeper", K_TRASH_DEPTH_MAX + 1)):
        run = tracker.init(project="test", id=name, quiet=True)
        run.finish()
        Path(run.dir, *["d"] * depth).mkdir(parents=True)
        done = script("import sys, tracker.__main__; tracker.__main__.main()", "rm", f"test/{name}", "--yes")
        assert (done.returncode == 0) == (name == "edge"), done.stderr
        assert ("too many folders in each other" in done.stderr) == (name == "deeper")


# --- F24: hostile sizes -----------------------------------------------------------------------------------------------


HOSTILE_KEYS = [
    "..",
    ".",
    "/",
    "//",
    "../../etc/passwd",
    "a/../b",
    "ünï",
    "日本",
    "\x01\x1b[31m",
    "tab\t",
    "nl\n",
    "%2e",
]


def test_keys_that_look_like_paths_are_names_and_nothing_else(store: Path, tmp_path: Path) -> None:
    run = tracker.init(project="../../up", id="..", group="/", quiet=True, config=dict.fromkeys(HOSTILE_KEYS, 1))
    run.log(dict.fromkeys(HOSTILE_KEYS, 1.0), step=0)
    for key in HOSTILE_KEYS:
        run.summary[key] = 2
    read = stored(run)
    assert sorted(read.series()) == sorted(HOSTILE_KEYS)
    assert {name: value for name, value in read.summary.items() if value == 2}.keys() == set(HOSTILE_KEYS)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["store"], "nothing was written outside the store"
    assert len(list((store / "runs").iterdir())) == 1


def test_a_config_of_10_mb_is_stored_whole(run: tracker.Run) -> None:
    big = {f"key{i:05d}": "v" * 1000 for i in range(10_000)}
    run.config["big"] = big
    assert run.flush(30)  # two such at once may be more than waits for the disk
    text = "t" * 10_000_000
    run.config["text"] = text
    assert run.flush(30)
    read = stored(run)
    assert read.config["big"] == big
    assert read.config["text"] == text


MANY_KEYS = """
import resource, sys, tracker

def rss():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
run = tracker.init(project="test", id="many", quiet=True, on_full="block")
run.log({"first": 1.0}, step=0)
keys, rows = int(sys.argv[1]), int(sys.argv[2])
base = rss()
for i in range(keys):
    run.log({f"key/{i}": 0.5}, step=i)
assert run.flush(120)
after_keys = rss()
for i in range(rows):
    run.log({f"new/{i}": 0.5}, step=i)
assert run.flush(120)
status = run.status()
print(base, after_keys, rss(), status.points_logged, status.points_stored, status.points_dropped, flush=True)
run.finish()
"""


def test_a_hundred_thousand_keys_and_a_million_rows_with_a_new_one_each_take_bounded_memory(script: Script) -> None:
    rows, keys = 1_000_000, 100_000
    done = script(MANY_KEYS, str(keys), str(rows), timeout=300)
    assert done.returncode == 0, done.stderr
    base, after_keys, end, *points = (float(word) for word in done.stdout.split())
    assert points == [1 + keys + rows, K_SERIES_MAX, 1 + keys + rows - K_SERIES_MAX]
    # A metric that is logged alone takes some 500 bytes in all tables together; what is beyond the limit takes nothing.
    assert after_keys - base < 75
    assert end - base < 165
    assert tracker.open_run("test/many").points == K_SERIES_MAX


def test_runs_that_a_process_has_begun_are_remembered_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    from tracker import _open_runs

    assert _open_runs.BEGUN_MAX == 4096
    monkeypatch.setattr(_open_runs, "BEGUN_MAX", 2)
    runs = []
    for number in range(3):
        with tracker.init(project="p", id=f"r{number}", quiet=True) as run:
            run.log({"x": 1.0}, step=0)
        runs.append(tracker.open_run(run.uid))
    assert len(_open_runs._begun) == 2
    assert [read.points for read in runs] == [1, 1, 1]
    for number in range(3):
        with tracker.init(project="p", id=f"r{number}", resume="must", quiet=True) as run:
            run.log({"x": 2.0}, step=1)
        assert len(_open_runs._begun) == 2
    assert [read.points for read in runs] == [2, 2, 2], "each is read again, remembered or not"
