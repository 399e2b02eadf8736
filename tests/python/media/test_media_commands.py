# SPDX-License-Identifier: MIT
"""Goal: the commands know media: `show` lists them, `verify` names what is missing or damaged, `gc` removes what a kill
left. Method: a run with each, damaged by hand."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import tracker


def command(*words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(Path(tracker.__file__).parent.parent)}
    line = [sys.executable, "-m", "tracker", *words]
    return subprocess.run(line, capture_output=True, text=True, env=env, check=False)


def recorded() -> tracker.Run:
    run = tracker.init(project="media", id="kept", quiet=True)
    for step in range(3):
        mask = np.full((4, 4), step, np.uint8)
        run.log({"image": tracker.Image(np.full((4, 4), step, np.uint8), masks={"m": mask + 9})}, step=step)
        run.log({"note": [tracker.Text("a"), tracker.Html("<b>")], "loss": 0.5}, step=step)
    run.finish(timeout=60)
    return run


def files(run: tracker.Run) -> list[Path]:
    return sorted(path for path in (Path(run.dir) / "media").rglob("*.png"))


def test_show_lists_names_kinds_counts_and_last_steps() -> None:
    recorded()
    shown = command("show", "media/kept").stdout
    assert "Media" in shown
    lines = {line.split()[0]: line for line in shown.splitlines() if line.strip()}
    assert lines["image"].split()[1:4] == ["image", "3", "2"]
    assert "html, text" in lines["note"]
    document = json.loads(command("show", "media/kept", "--json").stdout)
    assert [(m["name"], m["kinds"], m["entries"], m["last_step"]) for m in document["media"]] == [
        ("image", ["image"], 3, 2),
        ("note", ["html", "text"], 6, 2),
    ]
    assert document["media_account"] == {
        "logged": 9, "stored": 9, "dropped": 0, "pending": 0, "lost": 0, "dropped_by_reason": {}
    }  # fmt: skip


def test_verify_names_a_missing_and_a_damaged_file() -> None:
    run = recorded()
    assert command("verify").returncode == 0
    gone, changed, *_ = files(run)
    gone.unlink()
    changed.chmod(0o600)
    changed.write_bytes(changed.read_bytes()[:-1] + b"x")
    found = command("verify", "--json")
    assert found.returncode == 3, found.stderr
    findings = {(f["kind"], Path(f["path"]).name) for f in json.loads(found.stdout)["findings"]}
    assert findings == {("media-missing", gone.name), ("media", changed.name)}
    assert command("verify", run.dir).returncode == 3


def test_gc_removes_what_a_kill_left_and_rm_the_whole_folder(store: Path) -> None:
    run = recorded()
    leftover = Path(run.dir) / "media" / "file.tmp-0123456789abcdef"
    leftover.write_bytes(b"half")
    os.utime(leftover, (time.time() - 4000,) * 2)
    assert command("gc").returncode == 0
    assert not leftover.exists()
    assert len(files(run)) == 6
    assert command("rm", "media/kept", "--yes").returncode == 0
    assert not Path(run.dir).exists()


def test_a_picture_in_a_table_is_a_file_of_the_run_to_verify_show_and_a_bundle(tmp_path: Path) -> None:
    run = tracker.init(project="media", id="table", quiet=True)
    pixels = np.arange(12, dtype=np.uint8).reshape(3, 4)
    run.log({"t": tracker.Table({"picture": [tracker.Image(pixels)], "n": [1]})}, step=0)
    run.finish(timeout=60)
    shown = json.loads(command("show", "media/table", "--json").stdout)["media"]
    assert shown[0]["bytes"] > files(run)[0].stat().st_size
    bundle = tmp_path / "a.trk"
    assert command("export", "media/table", "--bundle", str(bundle)).returncode == 0
    other = tmp_path / "other"
    assert command("import", str(bundle), "--dir", str(other)).returncode == 0
    (entry,) = tracker.open_run("media/table", dir=str(other)).media("t")
    assert np.array_equal(entry.load().columns["picture"][0].load(), pixels)
    files(run)[0].unlink()
    found = command("verify", "--json")
    assert [f["kind"] for f in json.loads(found.stdout)["findings"]] == ["media-missing"]
