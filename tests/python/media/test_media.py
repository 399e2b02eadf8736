# SPDX-License-Identifier: MIT
"""Goal: media logged by log() come back as they were, of each way to log them, and never hurt the training.
Method: what is logged is read back with the public interface; some end or fork."""

from __future__ import annotations

import hashlib
import os
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tracker
from pixels import pixels
from tracker._media import encode_queue

Script = Callable[..., "subprocess.CompletedProcess[str]"]


# Promise P6: Images and other media of a run come back as they were logged, of a list in its order.
def test_an_image_comes_back_pixel_by_pixel(run: tracker.Run) -> None:
    array = pixels()
    run.log({"samples": tracker.Image(array, caption="a caption"), "loss": 0.5}, step=3)
    run.finish()
    stored = tracker.open_run(run.uid)
    (entry,) = stored.media("samples")
    assert (entry.step, entry.kind, entry.caption) == (3, "image", "a caption")
    assert (entry.info["width"], entry.info["height"]) == (5, 6)
    assert np.array_equal(entry.load(), array)
    assert stored.history("loss").values.tolist() == [0.5]
    assert stored.media_names() == ["samples"]
    status = run.status()
    assert (status.media_logged, status.media_stored, status.media_dropped, status.media_pending) == (1, 1, 0, 0)


def test_a_file_is_named_by_its_content_and_stored_once(run: tracker.Run) -> None:
    for step in range(3):
        run.log({"same": tracker.Image(pixels())}, step=step)
    run.finish()
    files = [path for path in (Path(run.dir) / "media").rglob("*") if path.is_file()]
    assert len(files) == 1
    assert files[0].stem == hashlib.sha256(files[0].read_bytes()).hexdigest()
    assert files[0].parent.name == files[0].stem[:2]
    assert [entry.step for entry in tracker.open_run(run.uid).media("same")] == [0, 1, 2]


def test_the_array_may_change_as_soon_as_it_was_given(run: tracker.Run) -> None:
    array = pixels()
    before = array.copy()
    image = tracker.Image(array)
    array[:] = 0
    run.log({"a": image}, step=0)
    assert np.array_equal(tracker.open_run(run.uid).media("a")[0].load(), before)


def test_what_was_logged_before_is_read_in_the_same_process(run: tracker.Run) -> None:
    run.log({"a": [tracker.Image(pixels(seed=i)) for i in range(8)]}, step=1)
    entries = tracker.open_run(run.uid).media("a")
    assert len(entries) == 8
    for i, entry in enumerate(entries):
        assert np.array_equal(entry.load(), pixels(seed=i)), i


def test_a_list_keeps_its_order_and_the_last_call_of_a_step_is_seen(run: tracker.Run) -> None:
    run.log({"a": [tracker.Text("first"), tracker.Image(pixels()), tracker.Text("third")]}, step=1)
    run.log({"a": [tracker.Text("later")]}, step=1)
    run.log({"a": tracker.Text("other")}, step=2)
    stored = tracker.open_run(run.uid)
    assert [(e.step, e.load()) for e in stored.media("a")] == [(1, "later"), (2, "other")]
    every = stored.media("a", all=True)
    assert sorted(e.kind for e in every) == ["image", "text", "text", "text", "text"]
    listed = sorted((e for e in every if "index" in e.info and e.time == every[0].time), key=lambda e: e.info["index"])
    assert [e.kind for e in listed] == ["text", "image", "text"]


def test_media_without_a_step_take_the_next_one(run: tracker.Run) -> None:
    run.log({"loss": 1.0}, step=4)
    run.log({"a": tracker.Image(pixels())})
    run.log({"a": tracker.Image(pixels(seed=1))})
    assert [entry.step for entry in tracker.open_run(run.uid).media("a")] == [5, 6]
    assert run.step == 6


def test_a_handle_takes_media_too(run: tracker.Run) -> None:
    run.metric("a").log(tracker.Html("<b>x</b>"), 7)
    (entry,) = tracker.open_run(run.uid).media("a")
    assert (entry.step, entry.kind, entry.load()) == (7, "html", "<b>x</b>")


def test_nested_names_flatten_as_for_numbers(run: tracker.Run) -> None:
    run.log({"val": {"image": tracker.Image(pixels()), "acc": 0.5}}, step=0)
    stored = tracker.open_run(run.uid)
    assert stored.media_names() == ["val/image"]
    assert stored.series() == ["val/acc"]


def test_a_list_keeps_the_media_among_other_things(run: tracker.Run) -> None:
    run.log({"a": [None, tracker.Image(pixels())]}, step=0)
    assert len(tracker.open_run(run.uid).media("a")) == 1


# A run may have come from anybody.
def test_a_link_or_a_pipe_in_the_place_of_a_file_is_not_read(run: tracker.Run, tmp_path: Path) -> None:
    run.log({"a": tracker.Html("<p>" * 100_000)}, step=0)
    run.finish()
    (entry,) = tracker.open_run(run.uid).media("a")
    (tmp_path / "other").write_text("of somebody else")
    file = Path(entry.path or "")
    file.unlink()
    file.symlink_to(tmp_path / "other")
    with pytest.raises(OSError, match="symbolic links"):
        entry.load()
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(OSError, match="no regular file"):
        entry.load()


def test_a_text_under_the_name_of_a_secret_is_redacted(run: tracker.Run) -> None:
    run.log({"api_key": "plain words"}, step=0)
    run.finish()
    assert [row.text for row in tracker.open_run(run.uid).texts("api_key")] == ["[redacted]"]


def test_an_unknown_name_says_which_there_are(run: tracker.Run) -> None:
    run.log({"a": tracker.Text("x")}, step=0)
    with pytest.raises(tracker.NotFoundError, match="'a'"):
        tracker.open_run(run.uid).media("b")


def test_what_cannot_be_encoded_is_counted_and_said_once(
    run: tracker.Run, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def broken(*arguments: Any) -> None:
        raise MemoryError("no memory on purpose")

    monkeypatch.setattr(encode_queue.Item, "write", broken)
    for step in range(3):
        run.log({"a": tracker.Image(pixels())}, step=step)
    run.finish()
    assert tracker.open_run(run.uid).media_account["by_reason"] == {"not encoded": 3}
    said = capfd.readouterr().err
    assert said.count("no memory on purpose") == 1, said


def test_a_bad_value_among_good_ones_is_counted_and_named(run: tracker.Run, capfd: pytest.CaptureFixture[str]) -> None:
    run.log({"a": [tracker.Text("good"), 5, tracker.Text("too")], "loss": 1.0}, step=0)
    run.finish()
    stored = tracker.open_run(run.uid)
    assert [entry.load() for entry in stored.media("a")] == ["good", "too"]
    assert stored.losses.rejected_values == 1
    assert "'a' is not logged: a list of media holds a int" in capfd.readouterr().err


def test_a_value_without_its_constructor_is_refused_as_what_it_is(
    run: tracker.Run, capfd: pytest.CaptureFixture[str]
) -> None:
    run.log({"a": tracker.Text.__new__(tracker.Text), "loss": 1.0}, step=0)
    run.finish()
    assert "'a' is not logged: its Text was not made by its constructor" in capfd.readouterr().err


def test_a_gated_rank_does_nothing_with_media() -> None:
    gated = tracker.init(project="p", rank=1, world_size=2, quiet=True)
    gated.log({"a": tracker.Image(pixels())}, step=0)
    assert gated.status().media_logged == 0
    assert not (Path(gated.dir) / "media").exists()
    gated.finish()


def test_a_forked_child_is_inert_and_the_parent_goes_on(run: tracker.Run) -> None:
    run.log({"a": tracker.Image(pixels())}, step=0)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            run.log({"a": [tracker.Image(pixels(seed=9)), tracker.Text("x")]}, step=1)
            run.flush(1)
            run.finish()
            code = 0 if threading.active_count() == 1 else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    run.log({"a": tracker.Image(pixels(seed=2))}, step=2)
    run.finish()
    assert [entry.step for entry in tracker.open_run(run.uid).media("a")] == [0, 2]


def test_a_child_that_attaches_encodes_with_a_thread_of_its_own(run: tracker.Run) -> None:
    run.log({"a": tracker.Image(pixels())}, step=0)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            run.attach()
            run.log({"a": tracker.Image(pixels(seed=1))}, step=1)
            run.finish(timeout=60)
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    run.finish()
    assert [entry.step for entry in tracker.open_run(run.uid).media("a")] == [0, 1]


def test_many_threads_log_media_of_their_own(run: tracker.Run) -> None:
    def work(number: int) -> None:
        for step in range(10):
            run.log({f"t{number}": tracker.Image(np.full((4, 4), step, np.uint8))}, step=step)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    run.finish(timeout=120)
    stored = tracker.open_run(run.uid)
    for i in range(4):
        assert [int(entry.load()[0, 0]) for entry in stored.media(f"t{i}")] == list(range(10))


def test_a_resume_at_a_step_shadows_media_after_it() -> None:
    first = tracker.init(project="media", id="again", quiet=True)
    for step in range(4):
        first.log({"a": tracker.Text(f"first {step}")}, step=step)
    first.finish()
    second = tracker.init(project="media", resume_from="media/again@1", quiet=True)
    second.log({"a": tracker.Text("second 2")}, step=2)
    second.finish()
    stored = tracker.open_run("media/again")
    assert [entry.load() for entry in stored.media("a")] == ["first 0", "first 1", "second 2"]
    assert len(stored.media("a", all=True)) == 5


def test_after_finish_media_are_dropped_and_counted(run: tracker.Run) -> None:
    run.finish()
    run.log({"a": tracker.Image(pixels()), "b": tracker.Text("x")}, step=0)
    status = run.status()
    assert (status.media_logged, status.media_dropped) == (2, 2)


def test_max_disk_stops_media_and_counts_them(store: Path) -> None:
    run = tracker.init(project="p", quiet=True, max_disk=32 << 20)
    noise = np.random.default_rng(0).integers(0, 256, (1000, 1000, 3), dtype=np.uint8)
    for step in range(40):
        run.log({"a": tracker.Image(noise ^ np.uint8(step))}, step=step)
        encode_queue.wait(run._core, 60)
    run.finish(timeout=60)
    used = sum(path.stat().st_size for path in store.rglob("*") if path.is_file())
    assert used <= 32 << 20
    account = tracker.open_run(run.uid).media_account
    assert account["dropped"] > 0
    assert account["stored"] + account["dropped"] == 40


def test_a_run_without_media_starts_no_thread_for_them(script: Script) -> None:
    done = script(
        """
        import sys, tracker
        with tracker.init(project="p", quiet=True) as run:
            run.log({"x": 1.0, "bad": object()}, step=0)
            print("tracker._media.medium" in sys.modules, "threading" in sys.modules)
        """
    )
    assert done.stdout == "False False\n", done.stderr
