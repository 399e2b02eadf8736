# SPDX-License-Identifier: MIT
"""The examples and the options of docs/cli.md are those of the program.

Method: each line of the document that begins with `$ tracker` runs in a folder whose store holds the runs that it
names, with answers from a pseudo-terminal where it asks; what is fixed in the output shown, names of columns and parts
and the form of lines, must be in that of the program. An example without a check fails.
"""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import tracker

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "cli.md"
PROGRAM = f"{sys.executable} -m tracker"
ARTIFACT_ACTIONS = ("ls", "show", "get", "put", "verify", "alias", "tag", "lineage")
COMMANDS = (
    *("init", "ls", "show", "tail", "stop", "login", "sync", "export", "import", "verify", "artifact", "gc", "rm"),
    *("doctor", "server", "ui"),
)


def sections() -> dict[str, str]:
    """The text of each command, by its name."""
    parts = re.split(r"^## tracker (\w+)$", DOCUMENT.read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def examples() -> list[tuple[str, list[str]]]:
    """Each command line, and the lines below it."""
    out: list[tuple[str, list[str]]] = []
    for block in re.findall(r"^```\n(.*?)^```$", DOCUMENT.read_text(), flags=re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, *shown = part.splitlines()
            out.append((line, shown))
    return out


def run(line: str, folder: Path, *, typed: str = "", code: int = 0) -> str:
    """What the command line says on stdout; `typed` comes from a terminal."""
    ours, theirs = pty.openpty()
    os.write(ours, typed.encode())
    done = subprocess.run(
        re.sub(r"^tracker\b", PROGRAM, line),
        shell=True,
        cwd=folder,
        env={**os.environ, "TRACKER_DIR": str(folder / "store")},
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs if typed else subprocess.PIPE,  # it asks where both are a terminal
        text=True,
        timeout=120,
        check=False,
    )
    os.close(ours)
    os.close(theirs)
    assert done.returncode == code, f"{line} returned {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store with the runs that the examples name, and what a killed `rm` left."""
    for name, exit_code in (("otter", 0), ("heron", 1)):
        recorded = tracker.init(
            project="mnist", id=name, dir=str(tmp_path / "store"), config={"lr": 0.1, "seed": 7}, quiet=True
        )
        for step in range(120):
            recorded.log({"train/loss": 2.5 / (1 + step) if name == "otter" else 9.0, "acc": step / 120}, step=step)
        recorded.log({"val/acc": 0.9, "sample": "hello"}, step=1)
        recorded.summary["best_acc"] = 0.98
        if name == "otter":
            (tmp_path / "data").write_bytes(bytes(2048))
            recorded.log_artifact(tmp_path / "data", type="dataset", aliases=["best"]).wait()
        else:
            recorded.use_artifact("data")
        recorded.finish(exit_code)
    (tmp_path / "old.csv").write_text("step,loss,acc\n0,0.5,0.1\n1,0.25,0.2\n")
    left = tmp_path / "store" / "trash" / "0123456789abcdef"
    left.mkdir(parents=True)
    (left / "run.json").write_bytes(bytes(5000))
    return tmp_path


def words(line: str) -> list[str]:
    return re.split(r"  +", line.strip())


def is_table(output: list[str], shown: list[str]) -> None:
    assert words(output[0]) == words(shown[0])


def is_same(output: list[str], shown: list[str]) -> None:
    assert output == shown


def has_parts(output: list[str], shown: list[str]) -> None:
    """Headings begin a line, and so do the words of the first part and of the table."""
    text = "\n".join(output)
    for line in shown:
        if line and not line.startswith((" ", "…")) and "/" not in line:
            assert re.search(rf"^{re.escape(line)}$", text, flags=re.MULTILINE), line
    for name in re.findall(r"^  ([a-z]+) {2,}", "\n".join(shown), flags=re.MULTILINE):
        if name not in {"lr", "seed", "tags", "best_acc", "epoch", "optimizer"}:
            assert re.search(rf"^  {name} {{2,}}\S", text, flags=re.MULTILINE), name


def is_tail(output: list[str], shown: list[str]) -> None:
    form = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC  step \d+(  [\w/]+ [-+.e\d]+)+"
    assert all(re.fullmatch(form, line) for line in (*output, *shown)), output
    assert not shown or len(output) == len(shown)


def is_export(output: list[str], shown: list[str]) -> None:
    if shown[0].startswith("{"):
        assert list(json.loads(output[0])) == list(json.loads(shown[0]))
    else:
        assert output[0] == shown[0]
        assert [line.count(",") for line in output[1:3]] == [line.count(",") for line in shown[1:3]]


def is_the_same(output: list[str], shown: list[str]) -> None:
    assert output == shown


def says_whose(output: list[str], shown: list[str]) -> None:
    form = r"the store .*: the group \S+ reads and writes it"
    assert all(re.fullmatch(form, line) for line in (*output, *shown))
    assert len(output) == len(shown) == 1


def says_what_went(output: list[str], shown: list[str]) -> None:
    """Lines of the same forms, but for names and sizes; the example may show more kinds of what went."""

    def forms(lines: list[str]) -> set[str]:
        return {re.sub(r"\S*/\S+", "PATH", re.sub(r"[\d.]+ ([KM]i)?B", "SIZE", line)) for line in lines}

    assert forms(output) <= {form.removesuffix(" y") for form in forms(shown)} | forms(shown)


Check = Callable[[list[str], list[str]], None]
CHECKS: dict[str, Check] = {
    "tracker init --shared": says_whose,
    "tracker ls": is_table,
    "tracker ls --where 'metrics.train/loss < 1 or state = failed' --sort=-points "
    "--columns state,metrics.train/loss.min": is_table,
    "tracker show mnist/otter": has_parts,
    "tracker tail mnist/otter -n 2": is_tail,
    "tracker tail otter train/loss -f --since 10m": is_tail,
    "tracker export mnist/otter --metric train/loss": is_export,
    "tracker export mnist/otter --format jsonl | tail -n 1": is_export,
    "tracker export mnist/otter --wide --metric train/loss --metric val/acc": is_export,
    "tracker artifact ls": is_table,
    "tracker artifact lineage mnist/data": is_same,
    "tracker import old.csv --project mnist": is_the_same,
    "tracker gc": says_what_went,
    "tracker rm mnist/otter": says_what_went,
    "tracker doctor": has_parts,
}


def test_every_example_of_the_document_runs_and_says_what_is_shown(folder: Path) -> None:
    seen = 0
    for line, shown in examples():
        if line == "tracker verify" or line.startswith(("tracker stop", "tracker login", "tracker sync")):
            continue  # below and in test_upload.py: they need damage, a run that lives, and a server
        assert line in CHECKS, f"{line}: no check"
        output = run(line, folder, typed="y\n" if line.startswith("tracker rm") else "").splitlines()
        assert output, line
        CHECKS[line](output, shown)
        seen += 1
        if line.startswith("tracker rm"):
            assert {each.id for each in tracker.runs(dir=str(folder / "store"))} == {"heron", "old"}
    assert seen == len(CHECKS)


def test_the_example_of_stop_is_what_a_live_run_gives(folder: Path) -> None:
    ((line, shown),) = ((line, shown) for line, shown in examples() if line.startswith("tracker stop"))
    live = tracker.init(project="mnist", id="live", dir=str(folder / "store"), quiet=True)
    assert run(line, folder).splitlines() == shown
    live.finish()


def test_the_example_of_verify_is_what_a_flipped_byte_gives(folder: Path) -> None:
    (shown,) = (shown for line, shown in examples() if line == "tracker verify")
    (database,) = (folder / "store").glob("runs/mnist/heron/*.db")
    content = bytearray(database.read_bytes())
    content[content.index(b"train/loss") - 8] ^= 0x10
    database.write_bytes(content)
    output = run("tracker verify", folder, code=3).splitlines()
    words_of_both = [
        re.findall(r"^  (intact|to do):", "\n".join(lines), flags=re.MULTILINE) for lines in (output, shown)
    ]
    assert set(words_of_both[1]) <= set(words_of_both[0])
    assert any(line.startswith("damage ") for line in output)
    assert re.fullmatch(
        r"Checked \d+ writers of \d+ runs: [\d,]+ frames, [\d,]+ points, [\d.]+ [KM]iB, 1 artifact\.", output[-2]
    )
    assert re.fullmatch(r"Checked \d+ writers of \d+ runs: [\d,]+ frames, [\d,]+ points, [\d.]+ [KM]iB\.", shown[-2])
    assert re.fullmatch(r"\d+ damages? found; everything else is intact\.", output[-1])


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_of_the_document_is_in_the_help_of_its_command(name: str, folder: Path) -> None:
    said = run(f"tracker {name} --help", folder)
    if name == "artifact":  # its actions have them
        said = "\n".join(run(f"tracker artifact {action} --help", folder) for action in ARTIFACT_ACTIONS)
    table = re.findall(r"^\| (`-.*?) \|", sections()[name], flags=re.MULTILINE)
    for option in re.findall(r"--?[a-z][a-z0-9-]*", " ".join(table)):
        assert re.search(rf"(?<![\w-]){option}\b", said), option


def test_the_document_has_each_command_that_the_help_lists(folder: Path) -> None:
    said = run("tracker --help", folder)
    listed = set(re.findall(r"^  ?(?:tracker )?([a-z]+)  ", said, flags=re.MULTILINE))
    assert set(COMMANDS) <= listed
    assert set(sections()) == set(COMMANDS)


def test_the_document_names_each_key_of_the_json_of_an_import_and_of_a_bundle(folder: Path) -> None:
    imported = json.loads(run("tracker import old.csv --project mnist --json", folder))
    bundled = json.loads(run("tracker export otter --bundle otter.trkb --json", folder))
    import_text, export_text = sections()["import"], sections()["export"]
    for key in [*imported, *imported["runs"][0]]:
        assert f"`{key}`" in import_text or f"`{key}[]`" in import_text, key
    bundle_text = next(line for line in export_text.splitlines() if line.startswith("| `--bundle"))
    for key in bundled:
        assert f"`{key}`" in bundle_text or f"`{key}[]`" in bundle_text, key
