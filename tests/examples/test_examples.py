# SPDX-License-Identifier: MIT
"""Every example in Python runs as its README says, and records what it claims. (Those in C and C++ are ctests.)

Method: each in an empty folder with a store of its own; the store is read back.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
import tracker
from http_server import Server, wait_until

ROOT = Path(__file__).resolve().parents[2]


def run_example(path: str, folder: Path, *arguments: str) -> str:
    """Runs it in `folder`, returns stdout; the package is imported from where this test imports it."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / path), *arguments],
        cwd=folder,
        env={**os.environ, "TRACKER_DIR": str(folder / "store")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{path} returned {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def page_of(command: str, folder: Path) -> bytes:
    """The page at the address that `tracker ui` prints, which opens a browser that does nothing."""
    subprocess.run([sys.executable, str(ROOT / "tools" / "console.py")], check=True)
    environment = {**os.environ, "BROWSER": "true"}
    ui = subprocess.Popen(
        f"exec env {command.strip()}", shell=True, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True
    )
    with ui:
        assert ui.stderr is not None
        line = ui.stderr.readline()
        try:
            with urllib.request.urlopen(line.removeprefix("tracker: ").partition("/#code=")[0], timeout=60) as page:
                return bytes(page.read())
        finally:
            ui.terminate()


@pytest.mark.parametrize("program, sent", [("upload_c", "sent upload/{id}"), ("upload_cpp", "{id}: ok")])
def test_upload_of_c_and_cpp_brings_the_run_to_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, sent: str
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("TRACKER_DIR", str(tmp_path / "store"))
    words = [str(ROOT / "build" / "examples" / "bin" / program)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "no server is known" in done.stderr
    with Server(tmp_path / "server") as server:
        words += [f"http://127.0.0.1:{server.port}", server.token]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        run, _ = tracker.runs(project="upload")
        assert done.stdout == sent.format(id=run.id) + "\n", done.stderr
        wait_until(lambda: [each.points for each in tracker.runs(dir=str(server.store))] == [1000])
        there = tracker.open_run(run.uid, dir=str(server.store))
        assert there.history("loss").values.tolist() == run.history("loss").values.tolist()


def test_quickstart_prints_the_last_loss_it_logged(tmp_path: Path) -> None:
    assert run_example("quickstart/quickstart.py", tmp_path).split() == ["0.001"]
    (run,) = tracker.runs(dir=str(tmp_path / "store"))
    assert run.state == "finished"
    assert run.config == {"lr": 0.1}
    assert run.points == 2000


def test_artifacts_join_the_runs(tmp_path: Path) -> None:
    folder, joined = run_example("quickstart/artifacts.py", tmp_path).splitlines()[-2:]
    used, made = "mnist/mnist-data:v0 mnist/tokenizer:v0", "mnist/mnist-model:v0 mnist/model.pt:v0"
    assert joined == f"{used} {made} ['prepare']"
    assert (Path(folder) / "digits.csv").read_text() == "7,2,1\n"


def test_lineage_leads_both_ways(tmp_path: Path) -> None:
    assert run_example("quickstart/lineage.py", tmp_path).splitlines() == [
        "['prepare'] ['train']",
        "['mnist/mnist-data:v0'] []",
    ]


def test_surroundings_of_a_run_are_read_back(tmp_path: Path) -> None:
    first, names = run_example("quickstart/surroundings.py", tmp_path).splitlines()
    assert first == f"{os.sysconf('SC_NPROCESSORS_ONLN')} CPUs, Python {sys.version.split()[0]}"
    assert "'system/proc.rss.bytes'" in names


def test_media_are_logged_and_read_back(tmp_path: Path) -> None:
    assert run_example("quickstart/media.py", tmp_path) == "1 table [('7', '1', 0.61), ('9', '4', 0.52)]\n"
    (run,) = tracker.runs(dir=str(tmp_path / "store"))
    assert run.media_names() == ["errors", "note", "samples", "weights"]
    assert run.media("samples")[0].load().shape == (64, 64)


def test_reading_reads_in_every_way_that_its_document_shows(tmp_path: Path) -> None:
    rows = sum(int(line.split()[0]) for line in run_example("reading/reading.py", tmp_path).splitlines())
    assert rows == 20_000


def test_alerts_stops_itself_and_is_found_with_its_alert(tmp_path: Path) -> None:
    output = run_example("alerts/alerts.py", tmp_path)
    assert output.startswith("good enough (")
    (run,) = tracker.runs(dir=str(tmp_path / "store"))
    assert run.state == "finished"
    assert 10 < run.points < 100_000
    assert [(alert.level, alert.title, alert.text) for alert in run.alerts] == [("warn", "loss is NaN", "at step 5")]


def test_console_has_the_lines_of_the_program_and_of_its_child(tmp_path: Path) -> None:
    output = run_example("quickstart/console.py", tmp_path).splitlines()
    printed = ["epoch 1: loss 0.5", "a line of a child process"]
    assert output[:2] == printed
    assert [line.split(" ", 2)[1:] for line in output[2:]] == [["stdout", text] for text in printed]


def test_notebook_cell_shows_the_run_and_ends_the_one_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import nbformat
    from nbclient import NotebookClient

    monkeypatch.setenv("TRACKER_DIR", str(tmp_path / "store"))
    monkeypatch.setenv("PYTHONPATH", str(Path(tracker.__file__).parent.parent))
    for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    cell = (ROOT / "examples" / "quickstart" / "notebook.py").read_text()
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for _ in range(2)])
    NotebookClient(notebook, timeout=300, startup_timeout=300, kernel_name="python3").execute()
    for done in notebook.cells:
        (page,) = [output["data"]["text/html"] for output in done["outputs"] if "data" in output]
        assert "loss" in page
    runs = list(tracker.runs(project="mnist", sort="created", dir=str(tmp_path / "store")))
    assert [run.points for run in runs] == [2000, 2000]
    assert runs[0].state_detail == "another cell called init()"


def test_demo_loses_and_doubles_nothing_through_a_kill(tmp_path: Path) -> None:
    output = run_example("demo/demo.py", tmp_path)
    words = [line.split() for line in output.splitlines()]
    account = {line[0]: line[1] for line in words if len(line) > 1}
    assert (account["lost"], account["doubled"]) == ("0", "0")
    for section in ("Environment", "Metrics", "Artifacts", "System", "Output", "Account", "Writers", "look further"):
        assert section in output
    # What it proposes at its end works unchanged, in the folder where it was called.
    looks, _, browser = output.partition("look further")[2].partition("\n\n== see it in the browser:\n")
    proposed = [line for line in looks.splitlines()[1:] if not line.startswith("   #")]
    assert len(proposed) == 6
    for line in proposed:
        environment = {**os.environ, "TRACKER_DIR": str(tmp_path / "store")}
        done = subprocess.run(
            line, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (line, done.stderr)
        assert done.stdout.strip(), line
    assert b'src="./assets/index-' in page_of(browser, tmp_path)
    (run,) = tracker.runs(project="digits", dir=str(tmp_path / "store"))
    assert run.state == "finished"
    assert len(run.writers) == 2
    assert run.history("train/loss").steps.tolist() == list(range(6000))
    assert run.summary["val/acc"] > 0.95


def test_a_script_of_em_records_its_run_and_its_model(tmp_path: Path) -> None:
    run_example("compat/train_em.py", tmp_path)
    (run,) = tracker.runs(dir=str(tmp_path / "store"))
    assert (run.project, run.name, run.state) == ("em-examples", "mnist_torch", "finished")
    assert run.history("train/loss").steps.tolist() == list(range(1, 201))
    assert [use.name for use in run.outputs] == ["em-examples/mnist_model:v0"]


def test_a_script_of_swanlab_records_its_run(tmp_path: Path) -> None:
    run_example("compat/train_swanlab.py", tmp_path)
    (run,) = tracker.runs(dir=str(tmp_path / "store"))
    assert (run.project, run.name, run.config) == ("Launch-Example", "first", {"lr": 0.1})
    assert run.history("loss").steps.size == 1000
    assert [row.text for row in run.texts("note")] == ["converged"]


def commands_of_tutorial() -> list[tuple[str, list[str]]]:
    """Each command line, and the lines that the tutorial shows after it."""
    text = (ROOT / "docs" / "tutorial.md").read_text()
    blocks = re.findall(r"^```\n(\$ .*?)^```$", text, re.MULTILINE | re.DOTALL)
    parts = [part.splitlines() for block in blocks for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    return [(line, shown) for line, *shown in parts]


def test_the_tutorial_works_from_its_first_command_to_its_last(tmp_path: Path) -> None:
    for script in (ROOT / "examples" / "tutorial").glob("*.py"):
        shutil.copy(script, tmp_path)
    environment = {name: value for name, value in os.environ.items() if name != "TRACKER_DIR"}
    killed, *commands = commands_of_tutorial()
    assert killed == ("timeout -s KILL 2 python fit.py", [])
    with subprocess.Popen([sys.executable, "fit.py"], cwd=tmp_path, env=environment) as process:
        wait_until((tmp_path / "line.json").exists)  # a busy machine may need 2 s for the first step
        process.kill()
    for line, shown in commands:
        program = re.sub(r"^python ", f"{sys.executable} ", line)
        program = re.sub(r"^tracker ", f"{sys.executable} -m tracker ", program)
        done = subprocess.run(
            program, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, (line, done.stderr)
        if shown and line != "tracker ls":  # which shows times, and how far the run came before it was killed
            assert done.stdout.splitlines() == shown, line
    run = tracker.open_run("line/first", dir=str(tmp_path / ".tracker"))
    assert run.attempts()[0].state == "crashed"
    assert run.history("loss").steps.tolist() == list(range(1500))
    assert (tmp_path / "loss.csv").read_text().count("\n") == 1501


def test_the_commands_of_the_readme_show_a_run_in_the_browser(tmp_path: Path) -> None:
    (block,) = re.findall(r"^```\n(make deps .*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    install, example, ui = [line.partition("#")[0].strip() for line in block.splitlines()]
    # tests/install: the console of an installation
    assert install == "make deps && . .venv/bin/activate && pip install -v '.[media,server]'"
    run_example(example.removeprefix("python examples/"), tmp_path)
    assert b'src="./assets/index-' in page_of(f"{sys.executable} -m {ui} --dir store", tmp_path)
