# SPDX-License-Identifier: MIT
"""What is read over HTTP is what a local reader finds.

Method: a real server process on a store with runs that this process has recorded into another one and sent; the binary
form is read by the second reader of tests/second_reader.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tracker
from http_server import Server, logs_of, post, second_reader, wait_until

LARGE = 2**62
VALUES = [0.5, math.nan, -math.inf, math.inf, -0.0, 5e-324, 1e300]
read_series = second_reader("series").read_series


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, tracker.StoredRun]]:
    folder = tmp_path_factory.mktemp("reading")
    config = {"lr": 0.1, "seed": 2**60}
    run = tracker.init(project="mnist", id="otter", dir=str(folder / "local"), config=config, tags=["a"], quiet=True)
    for step, value in enumerate(VALUES):
        run.log({"odd": value, "count": step, "late": step % 2 == 1, "val/acc": 0.1 * step}, step=LARGE + step)
    for step in range(5000):
        run.log({"long": math.sin(step / 100)}, step=step)
    run.log({"long": 7.0}, step=10)
    run.log({"image": tracker.Image(np.zeros((4, 4, 3), np.uint8))}, step=1)
    run.summary["best"] = 0.98
    print("printed by the script")
    run.finish()
    with Server(folder / "server") as server:
        for log in logs_of(run.dir):
            post(server, log).ok()
        yield server, tracker.open_run(run.uid, dir=str(folder / "local"))


def charts(server: Server, run: tracker.StoredRun, keys: list[str], **more: Any) -> list[Any]:
    answer = server.request("POST", "series", {"runs": [run.uid], "keys": keys, **more})
    assert answer.status == 200, answer.body
    assert answer.headers["content-type"] == "application/vnd.tracker.series"
    out: list[Any] = read_series(answer.body)
    return out


def test_a_run_says_its_state_config_and_summary(setting: tuple[Server, tracker.StoredRun]) -> None:
    server, local = setting
    run = server.get(f"runs/{local.uid}")
    assert (run["project"], run["id"], run["state"], run["tags"]) == ("mnist", "otter", "finished", ["a"])
    assert run["config"] == {"lr": 0.1, "seed": str(2**60)}
    assert run["summary"]["best"] == 0.98
    assert run["exit_code"] == 0
    assert run["step"] == 10
    assert run["losses"]["stored"] == run["points"]


def test_runs_are_filtered_sorted_and_paged(setting: tuple[Server, tracker.StoredRun]) -> None:
    server, local = setting
    assert [run["uid"] for run in server.get("runs", where="config.lr < 1", sort="-created")["runs"]] == [local.uid]
    assert server.get("runs", where="config.lr > 1") == {"total": 0, "runs": []}
    assert server.get("runs", offset=1)["runs"] == []
    (row,) = server.get("runs", columns="config.lr,metrics.long,metrics.long.max")["runs"]
    assert (row["config"], row["metrics"]) == ({"lr": 0.1}, {"long": 7.0, "long.max": 7.0})
    wrong = server.request("GET", "runs", where="config.lr <").json()["error"]
    assert wrong["code"] == "invalid"
    assert "column" in wrong["message"]
    assert server.get("projects")["projects"][0]["runs"] == 1


def test_the_metrics_of_a_run_are_listed_with_their_numbers(setting: tuple[Server, tracker.StoredRun]) -> None:
    server, local = setting
    listed = server.get(f"runs/{local.uid}/series", prefix="odd")
    assert listed["total"] == 1
    (odd,) = listed["series"]
    assert (odd["key"], odd["points"], odd["nan"], odd["pos_inf"], odd["neg_inf"]) == ("odd", len(VALUES), 1, 1, 1)
    assert odd["step_min"] == str(LARGE)
    every = server.get(f"runs/{local.uid}/series")["series"]
    assert [each["key"] for each in every] == sorted(local.series())


def test_a_chart_of_few_rows_is_its_points_bit_by_bit(setting: tuple[Server, tracker.StoredRun]) -> None:
    server, local = setting
    (odd,) = charts(server, local, ["odd"])
    assert (odd.head["form"], odd.head["x_base"]) == ("points", str(LARGE))
    assert [int(odd.head["x_base"]) + int(x) for x in odd.columns["x"]] == list(range(LARGE, LARGE + len(VALUES)))
    assert np.array(odd.columns["y"]).tobytes() == np.array(VALUES).tobytes()


def test_a_chart_of_many_rows_is_the_cells_of_a_local_one(setting: tuple[Server, tracker.StoredRun]) -> None:
    server, local = setting
    (served,) = charts(server, local, ["long"], pixels=100, lo=20, hi="4000")
    cells = local.chart("long", 20, 4000, pixels=100)
    assert served.head["form"] == "cells"
    assert (served.head["n"], served.head["rows"]) == (len(cells), cells.rows)
    base = int(served.head["x_base"])
    assert [base + int(x) for x in served.columns["x0"]] == list(cells.x0)
    for name in ("first", "last", "min", "max", "count"):
        assert served.columns[name] == list(getattr(cells, name))


def test_charts_over_time_start_and_a_metric_have_those_as_x(setting: tuple[Server, tracker.StoredRun]) -> None:
    server, local = setting
    (over_time,) = charts(server, local, ["odd"], x="time")
    times = local.history("odd").times
    assert np.allclose((int(over_time.head["x_base"]) + np.array(over_time.columns["x"])) / 1e6, times, atol=1e-6)
    (relative,) = charts(server, local, ["odd"], x="relative")
    assert relative.head["x_base"] == "0"
    assert 0 <= relative.columns["x"][0] < 60e6
    (over_count,) = charts(server, local, ["odd"], x="metric:count")
    assert over_count.columns["x"] == list(range(len(VALUES)))


def test_a_pair_without_rows_is_empty_and_no_error(setting: tuple[Server, tracker.StoredRun]) -> None:
    server, local = setting
    assert [each.head["n"] for each in charts(server, local, ["nothing", "odd"])] == [0, len(VALUES)]
    answer = server.request("POST", "series", {"runs": ["0" * 31 + "1"], "keys": ["odd"]})
    assert [each.head["n"] for each in read_series(answer.body)] == [0]


def test_each_rank_is_a_chart_of_its_own_where_ranks_are_asked_for(tmp_path: Path) -> None:
    common: dict[str, Any] = {"project": "job", "id": "ddp", "dir": tmp_path, "world_size": 2, "ranks": "all"}
    ranks = [tracker.init(rank=rank, quiet=True, **common) for rank in range(2)]
    for step in range(10):
        for run in ranks:
            run.log({"loss": step + run.rank / 8}, step=step)
    for run in ranks:
        run.finish()
    local = tracker.open_run("job/ddp", dir=str(tmp_path))
    with Server(tmp_path) as server:
        (one,) = charts(server, local, ["loss"])
        assert one.columns["y"] == list(range(10)), "the lowest rank counts"
        assert "rank" not in one.head
        apart = charts(server, local, ["loss", "nothing"], ranks=[1, 0, 7])
        assert [(each.head["key"], each.head["rank"], each.head["n"]) for each in apart] == [
            ("loss", 1, 10),
            ("loss", 0, 10),
            ("loss", 7, 0),
            *(("nothing", rank, 0) for rank in (1, 0, 7)),
        ]
        for each in apart[:2]:
            assert each.columns["y"] == [step + each.head["rank"] / 8 for step in range(10)]


# Reaches the limit kPairsMax.
@pytest.mark.parametrize(
    "body",
    [
        {"runs": ["x"], "keys": ["odd"]},
        {"runs": [], "keys": [], "ranks": [-1]},
        {"runs": [], "keys": [], "ranks": "all"},
        {"runs": ["a" * 32] * 20, "keys": ["k"] * 20, "ranks": [0, 1, 2]},
        {"runs": "x"},
        {"runs": [], "keys": [], "pixels": 0},
        {"runs": [], "keys": [], "x": "epoch"},
        {"runs": [], "keys": [], "lo": "one"},
        {"runs": ["a" * 32] * 40, "keys": ["k"] * 40},
    ],
)
def test_a_bad_question_is_named(setting: tuple[Server, tracker.StoredRun], body: dict[str, Any]) -> None:
    answer = setting[0].request("POST", "series", body)
    assert (answer.status, answer.json()["error"]["code"]) == (400, "invalid")


def test_every_row_comes_once_in_pages(setting: tuple[Server, tracker.StoredRun]) -> None:
    server, local = setting
    steps: list[int] = []
    cursor: str | None = None
    pages = 0
    while cursor != "":
        more: dict[str, Any] = {"cursor": cursor} if cursor else {}
        answer = server.request("GET", f"runs/{local.uid}/rows", key="long", limit=1000, **more)
        (page,) = read_series(answer.body)
        steps += page.columns["step"]
        cursor = answer.headers.get("x-tracker-cursor", "")
        pages += 1
    assert pages > 3
    assert steps == list(local.history("long", all=True).steps)


def test_whole_numbers_come_as_such(setting: tuple[Server, tracker.StoredRun]) -> None:
    server, local = setting
    (rows,) = read_series(server.request("GET", f"runs/{local.uid}/rows", key="count").body)
    assert rows.columns["y_int"] == list(range(len(VALUES)))
    assert rows.columns["step"][0] == LARGE


def test_media_are_listed_and_their_bytes_are_attachments(
    setting: tuple[Server, tracker.StoredRun],
) -> None:
    server, local = setting
    media = server.get(f"runs/{local.uid}/media", key="image")
    assert media["total"] == 1
    (one,) = media["media"]
    path = f"runs/{local.uid}/media/{one['digest']}.{one['ext']}"
    assert server.request("GET", path).status == 404
    content = next(Path(local.dir).glob("media/*/*")).read_bytes()
    sent = server.request("PUT", path, content, offset=0, bytes=len(content), project="mnist")
    assert sent.ok() == {"received": len(content), "complete": True}
    answer = server.request("GET", path)
    assert answer.body == content
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"


def test_lines_of_output_and_environment_are_read(setting: tuple[Server, tracker.StoredRun]) -> None:
    server, local = setting
    assert set(server.get(f"runs/{local.uid}/console")) == {"lines", "next", "total"}
    assert isinstance(server.get(f"runs/{local.uid}/environment"), dict)
    assert server.request("GET", f"runs/{local.uid}/console", stream="tty").status == 400


def test_changes_name_the_runs_that_have_changed_since(
    setting: tuple[Server, tracker.StoredRun], tmp_path: Path
) -> None:
    server, _ = setting
    begun = server.get("changes")
    assert begun["runs"] == []
    assert server.get("changes", cursor=begun["cursor"])["runs"] == []
    run = tracker.init(project="other", id="heron", dir=str(tmp_path / "new"), quiet=True)
    run.log({"loss": 1.0})
    run.finish()
    (log,) = logs_of(run.dir)
    post(server, log, project="other").ok()
    wait_until(lambda: server.get("changes", cursor=begun["cursor"])["runs"] == [run.uid])
    assert server.get("changes", cursor=begun["cursor"])["projects"] is True
    assert server.request("GET", "changes", cursor="x").status == 400


def test_connect_reads_a_run_as_a_local_one(setting: tuple[Server, tracker.StoredRun]) -> None:
    server, local = setting
    remote = tracker.connect(f"http://127.0.0.1:{server.port}", server.token)
    assert [run.uid for run in remote.runs(project="mnist", where="config.lr = 0.1")] == [local.uid]
    for name in ("mnist/otter", "otter", local.uid, "ott"):
        assert remote.open_run(name).uid == local.uid
    run = remote.open_run("mnist/otter")
    assert (run.state, run.config["lr"], run.summary["best"], run.tags) == ("finished", 0.1, 0.98, ("a",))
    assert (run.config.lr, run.summary.best, local.config.lr, local.summary.best) == (0.1, 0.98, 0.1, 0.98)
    for each in (run, local):
        with pytest.raises(AttributeError, match="summary has no entry 'bets'; did you mean 'best'"):
            _ = each.summary.bets
    assert run.series("val/*") == ["val/acc"]
    for all in (False, True):
        mine, theirs = run.history("long", all=all), local.history("long", all=all)
        assert list(mine.steps) == list(theirs.steps)
        assert list(mine.values) == list(theirs.values)
    assert run.history("count").values.dtype == np.int64
    assert list(run.history("late").values) == list(local.history("late").values)
    assert run.history("late").values.dtype == np.bool_
    ours, cells = run.chart("long", pixels=50), local.chart("long", pixels=50)
    assert list(ours.x0) == list(cells.x0)
    assert list(ours.max) == list(cells.max)
    points = run.chart("odd", x="time")
    assert np.array_equal(points.nan, [0, 1, 0, 0, 0, 0, 0])
    with pytest.raises(tracker.NotFoundError):
        run.history("nothing")
    with pytest.raises(tracker.NotFoundError):
        remote.open_run("mnist/missing")
    with pytest.raises(ValueError, match="column"):
        remote.runs(where="config.lr <")


def test_what_a_local_run_says_of_itself_a_remote_one_says_too(setting: tuple[Server, tracker.StoredRun]) -> None:
    server, local = setting
    (run,) = runs = tracker.connect(f"http://127.0.0.1:{server.port}", server.token).runs("mnist")
    for name in ("created", "ended", "name", "state", "state_detail", "notes", "group", "job_type", "tags"):
        assert getattr(run, name) == getattr(local, name), name
    for name in ("points", "summary", "environment", "problems", "outputs", "inputs"):
        assert getattr(run, name) == getattr(local, name), name
    assert run.losses.stored == local.losses.stored
    assert sum(writer.points for writer in run.writers) == run.points
    assert [writer.started for writer in run.writers] == [writer.started for writer in local.writers]
    assert [(each.name, each.points) for each in run.metrics()] == [
        (each.name, each.points) for each in local.metrics()
    ]
    assert run.series(system=True) == local.series(system=True)
    assert run.console() == local.console()
    assert run.console(contains="printed").total == 1
    assert (run.media_names(), run.media("image")[0].step) == (["image"], 1)
    mine, theirs = runs.to_pandas(), tracker.runs("mnist", dir=str(Path(local.dir).parents[2])).to_pandas()
    assert list(mine.columns) == list(theirs.columns)
    assert mine["summary.best"][0] == theirs["summary.best"][0]


def test_connect_says_what_is_wrong(setting: tuple[Server, tracker.StoredRun]) -> None:
    server, _ = setting
    with pytest.raises(tracker.TrackerError, match="no token"):
        tracker.connect(f"http://127.0.0.1:{server.port}", "trk_wrong")
    with pytest.raises(tracker.StoreError, match="does not answer"):
        tracker.connect("http://127.0.0.1:9", "trk_x")
    with pytest.raises(ValueError, match="needs a token"):
        tracker.connect("http://127.0.0.1:9")
    with pytest.raises(ValueError, match="no server is known"):
        tracker.connect()
    with pytest.raises(ValueError, match="expected a name or an address"):
        tracker.connect("ftp://runs.example", "trk_x")


def test_connect_takes_host_and_token_from_where_an_upload_takes_them(
    setting: tuple[Server, tracker.StoredRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, local = setting
    address = f"http://127.0.0.1:{server.port}"
    assert tracker.login(address, server.token) is True
    assert tracker.connect().open_run("otter").uid == local.uid
    monkeypatch.setenv("TRACKER_HOST", "http://127.0.0.1:9")
    with pytest.raises(ValueError, match="needs a token"):  # that of the login is of its host alone
        tracker.connect()
    monkeypatch.setenv("TRACKER_TOKEN", server.token)
    with pytest.raises(tracker.StoreError, match="does not answer"):
        tracker.connect()
    assert tracker.connect(address).open_run("otter").uid == local.uid
    with pytest.raises(tracker.TrackerError, match="no token"):
        tracker.connect(address, "trk_wrong")
