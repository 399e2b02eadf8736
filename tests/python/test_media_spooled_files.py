# SPDX-License-Identifier: MIT
"""Goal: what waits on the disk and cannot be encoded is counted or goes on waiting, nothing that such a file says is
believed, and what waits is bounded.
Method: the files of a killed process are cut, changed and forged; a reader has no library, no disk, no time."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tracker
from spooled import (
    HELD,
    LOGS,
    SIDE,
    STUCK,
    Script,
    command,
    image,
    killed,
    one_waits,
    spooled,
    start,
    stored_once,
)
from tracker import _core, _media_late, _media_queue, _media_spool


def test_a_file_that_is_cut_or_changed_anywhere_is_counted_and_never_another_picture(script: Script) -> None:
    path = one_waits(script)
    whole, seed = path.read_bytes(), random.randrange(1 << 32)
    print(f"seed {seed}")
    dice = random.Random(seed)
    damaged = [b"", whole[:-1], whole + b"x", whole[: len(whole) // 2]]
    for at in [dice.randrange(len(whole)) for _ in range(40)] + list(range(30)):
        damaged.append(whole[:at] + bytes([whole[at] ^ (1 << dice.randrange(8))]) + whole[at + 1 :])
        damaged.append(whole[:at])
    for number, data in enumerate(damaged):
        name = path.with_name(path.name[:-16] + f"{number:016x}")
        name.write_bytes(data)
    path.unlink()
    stored = tracker.open_run("media/killed")
    account = stored.media_account
    newer = len(spooled())  # a version that is another digit: left for who knows it
    assert newer <= 3
    assert account["stored"] == 0
    assert account["by_reason"] == {"spool damaged": len(damaged) - newer}


def forged(path: Path, change: Callable[[dict[str, Any]], object], payload: bytes | None = None) -> None:
    said, parts = _media_spool.read(str(path))
    change(said)
    text = json.dumps(said).encode()
    data = b"".join(parts) if payload is None else payload
    head = f"tracker-spool 1 {len(text)} {_core.crc32c(text):08x}\n".encode()
    path.write_bytes(head + text + b"\n" + data)


def deep(levels: int) -> Any:
    return [deep(levels - 1)] if levels else 1


FORGERIES: list[Callable[[dict[str, Any]], object]] = [
    lambda said: said["encoder"].update(ext="../../../../x.png"),
    lambda said: said["encoder"].update(mode="RGBA"),
    lambda said: said["encoder"].update(size=[SIDE * 2, SIDE]),
    lambda said: said["encoder"].update(size=[1 << 20, 1 << 20]),
    lambda said: said["encoder"]["said"].update(digest="0" * 64),
    lambda said: said["encoder"]["said"].update(caption=["a"]),
    lambda said: said["encoder"]["said"].update(boxes=deep(60)),
    lambda said: said["encoder"]["said"].update(boxes=deep(400)),
    lambda said: said["encoder"].update({"as": ["pixels"]}),
    lambda said: said["encoder"].pop("as"),
    lambda said: said["encoder"].update(masks={"m": [1, 1]}),
    lambda said: said["encoder"].update(labels={"m": {}}),
    lambda said: said["encoder"].update({"as": "file", "kind": "audio", "ext": "png"}),
    lambda said: said.pop("encoder"),
    lambda said: said.update(writer="0" * 32),
    lambda said: said.update(key=""),
    lambda said: said.update(key=7),
    lambda said: said.update(step=1 << 70),
    lambda said: said.update(step=True),
    lambda said: said.update(call=-1),
    lambda said: said.update(index="../.."),
    lambda said: said.update(parts=[[SIDE * SIDE * 3, 1]]),
    lambda said: said.update(parts=[[1 << 60, 0]]),
    lambda said: said.update(parts={"a": 1}),
]


@pytest.mark.parametrize("change", range(len(FORGERIES)))
def test_nothing_that_such_a_file_says_is_believed(script: Script, change: int) -> None:
    path = one_waits(script)
    forged(path, FORGERIES[change])
    before = {p for p in Path(os.environ["TRACKER_DIR"]).parent.rglob("*") if p.is_file()}
    stored = tracker.open_run("media/killed")
    account = stored.media_account
    assert (account["logged"], account["stored"], account["dropped"], account["pending"]) == (1, 0, 1, 0)
    assert account["by_reason"] == {"spool damaged": 1}
    assert stored.media_names() == []
    assert not spooled()
    after = {p for p in Path(os.environ["TRACKER_DIR"]).parent.rglob("*") if p.is_file()}
    assert {p.suffix for p in after - before} <= {".db"}, "the database of the process, and nothing else"


def test_a_link_and_a_pipe_of_such_a_name_are_left_alone(script: Script, tmp_path: Path) -> None:
    path = one_waits(script)
    (tmp_path / "secret").write_bytes(path.read_bytes())
    path.unlink()
    path.symlink_to(tmp_path / "secret")
    os.mkfifo(path.with_name(path.name[:-16] + "0" * 16))
    account = tracker.open_run("media/killed").media_account
    assert (account["stored"], account["pending"], account["lost"]) == (0, 0, 1)
    assert (tmp_path / "secret").exists()


def test_without_its_library_a_value_waits_and_that_is_said(
    script: Script, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    one_waits(script)

    def missing(*arguments: object) -> None:
        raise ImportError("Pillow is needed for images of pixels")

    with monkeypatch.context() as patch:
        patch.setattr(_media_late, "prepare", missing)
        account = tracker.open_run("media/killed").media_account
        assert (account["stored"], account["pending"], account["lost"]) == (0, 1, 0)
    assert "1 media of a dead process wait to be encoded: Pillow is needed" in capfd.readouterr().err
    assert stored_once(tracker.open_run("media/killed")) == [0]


def test_a_disk_that_refuses_the_file_leaves_the_value_waiting(
    script: Script, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    one_waits(script)

    def full(*arguments: object) -> None:
        raise OSError("No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(_media_late._Files, "add", full)
        account = tracker.open_run("media/killed").media_account
        assert (account["pending"], account["dropped"]) == (1, 0)
    assert "No space left on device" in capfd.readouterr().err
    assert stored_once(tracker.open_run("media/killed")) == [0]


def test_open_run_spends_a_bounded_time_and_the_next_one_goes_on(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed(script, STUCK + "for step in range(9): run.log({'image': tracker.Image(image(step))}, step=step)\n")
    for name in ("LATE_VALUES_MAX", "LATE_BYTES_MAX"):
        monkeypatch.setattr(_media_late, name, 1)
    monkeypatch.setattr(_media_late, "LATE_MS_MAX", -1)
    account = tracker.open_run("media/killed").media_account
    assert (account["pending"], account["stored"]) == (9 - HELD, 0)
    monkeypatch.setattr(_media_late, "LATE_MS_MAX", 60_000)
    assert stored_once(tracker.open_run("media/killed")) == list(range(HELD, 9))


def test_what_killed_processes_of_a_run_left_on_the_disk_is_bounded(
    run: tracker.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = [tracker.Image(image(step)) for step in range(3)]
    monkeypatch.setattr(_media_queue, "HELD_BYTES_MAX", 0)
    monkeypatch.setattr(_media_queue, "SPOOL_CALL_MS_MAX", 60_000)
    monkeypatch.setattr(_media_spool, "SPOOL_FOLDER_LOOK_MS", -1)
    size = SIDE * SIDE * 3
    media = Path(run.dir) / "media"
    media.mkdir()
    left = media / f"spool-{'0' * 32}-{'1' * 16}"
    left.write_bytes(bytes(100))
    monkeypatch.setattr(_media_spool, "SPOOL_FOLDER_BYTES_MAX", 100 + size - 1)
    run.log({"image": values[0]}, step=0)
    assert run.status().media_dropped == 1
    monkeypatch.setattr(_media_spool, "SPOOL_FOLDER_BYTES_MAX", 100 + size)
    run.log({"image": values[1]}, step=1)
    assert run.flush(60)
    assert (run.status().media_dropped, run.status().media_stored) == (1, 1)


def test_what_is_said_of_a_value_that_waits_and_the_whole_file_are_bounded(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = one_waits(script)
    whole = path.read_bytes()
    said = int(whole.split(b" ", 3)[2])
    for name, size in (("SPOOL_DESCRIPTION_BYTES_MAX", said), ("SPOOL_FILE_BYTES_MAX", len(whole))):
        with monkeypatch.context() as patch:
            patch.setattr(_media_spool, name, size)
            assert _media_spool.read(str(path))[0]["key"] == "image"
            patch.setattr(_media_spool, name, size - 1)
            with pytest.raises(_media_spool.DamagedError, match=r"more than|longer than it may be"):
                _media_spool.read(str(path))
    described = {"key": "x"}
    end = time.monotonic() + 60
    monkeypatch.setattr(_media_spool, "SPOOL_DESCRIPTION_BYTES_MAX", len(b'{"key":"x","parts":[]}'))
    assert _media_spool.head_of(described, (), end)
    with pytest.raises(ValueError, match="at most 22"):
        _media_spool.head_of({"key": "xy"}, (), end)


def test_the_native_program_counts_what_waits_and_leaves_it_to_one_of_python(script: Script) -> None:
    one_waits(script)
    shown = json.loads(command("show", "media/killed", "--json", native=True))
    assert shown["media_account"]["pending"] == 1
    assert "1 not encoded yet" in command("show", "media/killed", native=True)
    assert command("gc", native=True)
    assert len(spooled()) == 1
    shown = json.loads(command("show", "media/killed", "--json"))
    assert (shown["media_account"]["pending"], shown["media_account"]["stored"]) == (0, 1)
    assert not spooled()


def test_gc_encodes_what_waits_and_removes_what_is_old(script: Script) -> None:
    path = one_waits(script)
    old = path.with_name(path.name[:-16] + "0" * 16)
    age = 30 * 24 * 3600
    forged(path, lambda said: None)
    old.write_bytes(path.read_bytes().replace(b"tracker-spool 1", b"tracker-spool 9", 1))
    young = path.with_name(path.name[:-16] + "1" * 16)
    young.write_bytes(old.read_bytes())
    os.utime(old, (time.time() - age - 60,) * 2)
    os.utime(young, (time.time() - age + 600,) * 2)
    assert len(spooled()) == 3
    assert "would remove spooled medium" in command("gc", "--dry-run")
    assert len(spooled()) == 3
    assert "removed spooled medium" in command("gc")
    assert spooled() == [young]
    assert stored_once(tracker.open_run("media/killed")) == [0]


def test_verify_finds_a_run_whose_media_came_late_intact(script: Script) -> None:
    killed(script, STUCK + "for step in range(9): run.log({'image': tracker.Image(image(step))}, step=step)\n")
    assert "intact" in command("verify")
    tracker.open_run("media/killed")
    assert "intact" in command("verify", "--deep")


def test_a_resumed_run_shows_what_its_killed_attempt_had_on_the_disk(script: Script) -> None:
    killed(script, STUCK + "for step in range(9): run.log({'image': tracker.Image(image(step))}, step=step)\n")
    with tracker.init(project="media", id="killed", resume="must", quiet=True) as run:
        run.log({"image": tracker.Image(image(9))}, step=9)
        assert run.flush(60)
        assert stored_once(tracker.open_run("media/killed")) == list(range(HELD, 10))
    assert stored_once(tracker.open_run("media/killed")) == list(range(HELD, 10))


def test_a_bundle_of_a_killed_run_has_the_media_that_waited(script: Script, tmp_path: Path) -> None:
    killed(script, STUCK + "for step in range(9): run.log({'image': tracker.Image(image(step))}, step=step)\n")
    bundle = tmp_path / "killed.trk"
    said = json.loads(command("export", "media/killed", "--bundle", str(bundle), "--json"))
    assert said["left_out"] == []
    command("import", str(bundle), "--dir", str(tmp_path / "other"))
    stored = tracker.open_run("media/killed", dir=str(tmp_path / "other"))
    assert stored_once(stored) == list(range(HELD, 9))


def test_a_run_that_was_opened_while_its_process_lived_sees_its_media_behind_the_death(tmp_path: Path) -> None:
    body = STUCK + "for step in range(7): run.log({'image': tracker.Image(image(step)), 'x': 1.0}, step=step)\n"
    process = start(LOGS + body + "run.flush(0.2)\nprint('logged', flush=True)\ntime.sleep(600)\n", tmp_path)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "logged\n"
        stored = tracker.open_run("media/killed")
        assert stored.media_names() == []
    finally:
        process.kill()
        process.communicate()
    assert len(stored.history("x").values) == 7
    assert stored_once(stored) == list(range(HELD, 7))
