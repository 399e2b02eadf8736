# SPDX-License-Identifier: MIT
"""Frames that a client sends are stored once, whole, and acknowledged when they are on the disk.

Method: a real server process and real HTTP; the batches hold what a local run has recorded, and what the server's store
has then is compared with that run.
"""

from __future__ import annotations

import http.client
import random
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import tracker
from commands import command
from http_server import FRAME, Log, Server, Unit, logs_of, post, wait_until, with_crc


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(tmp_path / "server") as server:
        yield server


def received(server: Server, log: Log) -> list[list[float]]:
    """The rows that the server's store has: who reads them over HTTP first has all of them applied."""
    server.get(f"runs/{log.uid}")
    return rows(server.store, log.uid)


def record(label: str = "otter", frames: int = 5) -> tracker.Run:
    run = tracker.init(project="mnist", id=label, quiet=True)
    for step in range(frames):
        run.log({"loss": 1 / (1 + step), "count": step}, step=step)
        run.flush()
    return run


def rows(store: Path | str, name: str = "mnist/otter") -> list[list[float]]:
    run = tracker.open_run(name, dir=str(store))
    return [list(run.history(key, all=True).values) for key in ("loss", "count")]


def recorded(label: str = "otter", frames: int = 5) -> Log:
    run = record(label, frames)
    run.finish()
    (log,) = logs_of(run.dir)
    return log


def live_log(frames: int = 5) -> tuple[tracker.Run, Log]:
    """Of a run that goes on, whose units are single frames."""
    run = record(frames=frames)
    (log,) = logs_of(run.dir)
    assert len(log.units) >= frames
    assert all(unit.kind == FRAME for unit in log.units)
    return run, log


# Promise P3: The rows of the server are those of the client, bit by bit.
def test_what_is_sent_is_what_a_reader_finds(server: Server, store: Path) -> None:
    log = recorded()
    assert post(server, log).ok()["acked_seq"] == log.units[-1].last
    wait_until(lambda: tracker.runs(dir=str(server.store))[0].state == "finished")
    assert received(server, log) == rows(store)
    listed = command("ls", "--dir", str(server.store))
    assert listed.returncode == 0
    assert "mnist/otter " in listed.stdout
    assert " in mnist/" not in listed.stdout  # the folder of its uid is its own
    verified = command("verify", "--dir", str(server.store))
    assert (verified.returncode, "note" in verified.stdout) == (0, False), verified.stdout


def test_a_run_is_a_folder_of_its_uid_with_the_client_s_label(server: Server) -> None:
    log = recorded()
    post(server, log).ok()
    assert (server.store / "runs" / "mnist" / log.uid / "run.json").exists()
    assert server.get(f"runs/{log.uid}")["id"] == "otter"


def test_a_second_run_of_a_label_gets_the_next_free_one(server: Server, tmp_path: Path) -> None:
    first = recorded()
    run = tracker.init(project="mnist", id="otter", dir=str(tmp_path / "other"), quiet=True)
    run.log({"loss": 1.0})
    run.finish()
    (second,) = logs_of(run.dir)
    for log in (first, second, first):
        post(server, log).ok()
    ids = {each["uid"]: each["id"] for each in server.get("runs", project="mnist")["runs"]}
    assert ids == {first.uid: "otter", second.uid: "otter-2"}


def test_a_batch_that_is_sent_again_is_stored_once(server: Server, store: Path) -> None:
    log = recorded()
    answers = [post(server, log).ok() for _ in range(3)]
    assert answers[0] == answers[1] == answers[2]
    assert received(server, log) == rows(store)


# Promise P3: A server is a replica: the same bytes, exactly once in effect.
def test_batches_of_several_senders_at_once_count_once(server: Server, store: Path) -> None:
    run, log = live_log(20)
    run.finish()

    def send() -> None:
        at = 0
        while at < len(log.units):
            take = random.randint(1, 5)
            answer = post(server, log, log.units[at : at + take]).ok()
            at = sum(1 for unit in log.units if unit.last <= answer["acked_seq"])

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert server.get(f"runs/{log.uid}")["points"] == 40


def test_a_unit_whose_predecessors_are_not_there_is_rejected(server: Server) -> None:
    _, log = live_log()
    answer = post(server, log, log.units[2:]).ok()
    assert answer["acked_seq"] == 0
    assert [each["code"] for each in answer["rejected"]] == ["unknown_before"] * len(log.units[2:])
    assert server.get(f"runs/{log.uid}/writers", project="mnist")["writers"] == {}


def test_other_bytes_under_a_known_number_are_kept_aside_and_counted(server: Server) -> None:
    _, log = live_log()
    post(server, log).ok()
    unit = next(each for each in log.units if b"loss" in each.data)
    changed = with_crc(unit.data.replace(b"loss", b"lose"))
    answer = post(server, log, [Unit(FRAME, unit.prev, unit.first, unit.last, changed)]).ok()
    assert [each["code"] for each in answer["rejected"]] == ["differs"]
    shown = server.get(f"runs/{log.uid}")
    assert shown["losses"]["quarantined"] == 1
    assert [each["key"] for each in server.get(f"runs/{log.uid}/series")["series"]] == ["count", "loss"]


def test_points_of_a_declared_gap_are_counted_as_lost(server: Server) -> None:
    _, log = live_log()
    units = [*log.units[:2], Unit(FRAME, 2, log.units[3].first, log.units[3].last, log.units[3].data, lost=7)]
    assert post(server, log, units).ok()["acked_seq"] == log.units[3].last
    losses = server.get(f"runs/{log.uid}")["losses"]
    assert losses["dropped"] == 7
    assert list(losses["dropped_by_reason"].values()) == [7]


def test_points_cannot_be_lost_where_there_is_no_gap(server: Server) -> None:
    _, log = live_log()
    first = log.units[0]
    answer = post(server, log, [Unit(FRAME, first.prev, first.first, first.last, first.data, lost=1)])
    assert (answer.status, answer.json()["error"]["code"]) == (400, "invalid")


def test_a_segment_is_stored_from_the_first_frame_that_is_new(server: Server, store: Path) -> None:
    run, live = live_log()
    post(server, live, live.units[:2]).ok()
    run.finish()
    (log,) = logs_of(run.dir)
    assert post(server, log).ok()["acked_seq"] == log.units[-1].last
    assert received(server, log) == rows(store)


def test_a_live_run_is_running_while_its_heartbeat_is_young(server: Server) -> None:
    _, log = live_log()
    post(server, log, heartbeat_us=time.time_ns() // 1000).ok()
    assert server.get(f"runs/{log.uid}")["state"] == "running"
    assert tracker.open_run(log.uid, dir=str(server.store)).state == "running"


def test_a_run_without_an_end_and_with_an_old_heartbeat_has_lost_contact(server: Server) -> None:
    now_us = time.time_ns() // 1000
    run = tracker.init(project="mnist", id="otter", quiet=True)
    run.log({"loss": 1.0}, step=1)
    run.flush()
    (log,) = logs_of(run.dir)
    at = log.identity.index(b"started_us\x1b") + 11
    log.identity = log.identity[:at] + (now_us - 3_600_000_000).to_bytes(8, "big") + log.identity[at + 8 :]
    assert post(server, log, [], heartbeat_us=now_us - 120_000_000).ok()["acked_seq"] == 0
    assert server.get(f"runs/{log.uid}")["state"] == "lost contact"
    assert tracker.open_run(log.uid, dir=str(server.store)).state == "lost contact"


def test_a_client_whose_clock_is_wrong_is_running_while_its_heartbeat_moves(server: Server) -> None:
    _, log = live_log()
    hour_ago = time.time_ns() // 1000 - 3_600_000_000
    for beat in range(2):
        post(server, log, [], heartbeat_us=hour_ago + beat * 1_000_000).ok()
    assert server.get(f"runs/{log.uid}")["state"] == "running"


def test_what_was_acknowledged_survives_a_kill_of_the_server(server: Server, store: Path) -> None:
    run, log = live_log(40)
    run.finish()
    rng = random.Random(26)
    acked = kills = at = 0
    while at < len(log.units):
        assert server.process is not None
        killer = threading.Timer(rng.uniform(0, 0.2), server.process.kill) if kills < 6 else None
        if killer is not None:
            killer.start()
        try:
            while at < len(log.units):
                acked = post(server, log, log.units[at : at + 2]).ok()["acked_seq"]
                at = sum(1 for unit in log.units if unit.last <= acked)
        except (OSError, http.client.HTTPException):
            pass  # the server is gone
        if killer is not None:
            killer.join()
            server.end(signal.SIGKILL)
            kills += 1
            server.start()
            held = server.get(f"runs/{log.uid}/writers", project="mnist")["writers"]
            assert held.get(log.writer, {"acked_seq": 0})["acked_seq"] >= acked
    assert kills > 0
    assert server.get(f"runs/{log.uid}")["points"] == 80
    assert received(server, log) == rows(store)


def test_a_damaged_batch_is_to_be_sent_again_and_a_bad_one_is_not(server: Server) -> None:
    log = recorded()
    batch = log.batch()
    path = f"runs/{log.uid}/frames"
    assert server.request("POST", path, batch[:-9], project="mnist").status == 422
    assert server.request("POST", path, b"TBAT", project="mnist").status == 422
    bad = log.batch([Unit(unit.kind, unit.prev, unit.first + 7, unit.last + 7, unit.data) for unit in log.units[:1]])
    assert server.request("POST", path, bad, project="mnist").status == 400
    assert server.request("POST", f"runs/{'1' * 32}/frames", batch, project="mnist").status == 400
    newer = bytearray(batch)
    newer[4] = 2
    answer = server.request("POST", path, with_crc(bytes(newer)), project="mnist")
    assert (answer.status, answer.json()["error"]["code"]) == (415, "unknown_format")
    assert server.get("runs")["total"] == 0


def test_a_second_server_on_the_store_is_refused(server: Server) -> None:
    done = command("server", "--dir", str(server.store), "--port", "0")
    assert done.returncode == 1
    assert "another server" in done.stderr


def test_rm_and_gc_beside_a_server_remove_nothing_and_name_it(server: Server) -> None:
    log = recorded()
    post(server, log).ok()
    assert server.process is not None
    for words in (("rm", "--yes", log.uid), ("gc",), ("gc", "--max-disk", "1", "--unsynced")):
        done = command(*words, "--dir", str(server.store))
        assert (done.returncode, done.stdout) == (1, ""), words
        assert f"a server (process {server.process.pid}) has the store" in done.stderr
        assert done.stderr.count("\n") == 1, done.stderr
    assert command("gc", "--dry-run", "--dir", str(server.store)).returncode == 0
    assert server.get(f"runs/{log.uid}")["points"] == 10
    server.end()
    assert command("rm", "--yes", log.uid, "--dir", str(server.store)).returncode == 0


def test_sigterm_ends_the_server_cleanly_and_leaves_plain_files(server: Server) -> None:
    log = recorded()
    post(server, log).ok()
    assert server.end() == (0, "")
    assert not list(server.store.glob("runs/*/*/*.db-wal"))
