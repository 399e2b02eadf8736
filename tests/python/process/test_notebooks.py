# SPDX-License-Identifier: MIT
"""Goal: a run in a notebook is ended by the next cell that opens one, survives its kernel, and shows itself safely.
Method: notebooks run by nbclient in kernels of their own; the store is read back."""

from __future__ import annotations

import html.parser
import inspect
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import tracker

PACKAGE_ROOT = str(Path(tracker.__file__).parent.parent)
PATIENCE_S = 300
OPEN = "import tracker\nrun = tracker.init(project='nb')\nrun.log({'loss': 1.0}, step=0)"

# Of the event loops and sockets of jupyter_client, which are not ours.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def jupyter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels import what this test imports, and write nothing outside of the test's folder."""
    monkeypatch.setenv("PYTHONPATH", PACKAGE_ROOT)
    for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))


def client_of(*cells: str) -> Any:
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    return NotebookClient(notebook, timeout=PATIENCE_S, startup_timeout=PATIENCE_S, kernel_name="python3")


def run_sync(answer: Any) -> None:
    """Managers and clients of nbclient answer at once, or with what an event loop runs."""
    if inspect.isawaitable(answer):
        from jupyter_core.utils import ensure_event_loop

        ensure_event_loop().run_until_complete(answer)


def output_of(cell: Any) -> str:
    return "".join(output.get("text", "") for output in cell["outputs"] if output.get("name") == "stdout")


def test_a_cell_that_is_run_again_ends_the_run_before_it() -> None:
    client = client_of(OPEN, OPEN, "old = run\n" + OPEN + "\nprint(old._core.finished)", "run.finish()")
    client.execute()
    assert output_of(client.nb.cells[2]).strip() == "True"
    runs = list(tracker.runs(project="nb", sort="created"))
    assert [(run.state, run.state_detail) for run in runs] == [
        ("finished", "another cell called init()"),
        ("finished", "another cell called init()"),
        ("finished", ""),
    ]
    assert [run.points for run in runs] == [1, 1, 1]


def test_runs_of_one_cell_live_side_by_side() -> None:
    cell = "import tracker\na, b = tracker.init(project='nb'), tracker.init(project='nb')\nprint(a._core.finished)"
    client = client_of(cell, "a.log({'x': 1}); b.log({'x': 1}); a.finish(); b.finish()")
    client.execute()
    assert output_of(client.nb.cells[0]).strip() == "False"
    assert [(run.state, run.points) for run in tracker.runs(project="nb")] == [("finished", 1)] * 2


def test_a_killed_kernel_loses_nothing() -> None:
    cell = "import os, tracker\nrun = tracker.init(project='nb', id='killed')\n"
    cell += "for i in range(100): run.log({'loss': 1.0}, step=i)\nprint(os.getpid())"
    client = client_of(cell)
    with client.setup_kernel():
        client.execute_cell(client.nb.cells[0], 0)
        os.kill(int(output_of(client.nb.cells[0])), signal.SIGKILL)
        end = time.monotonic() + PATIENCE_S
        while tracker.open_run("nb/killed").state == "running" and time.monotonic() < end:
            time.sleep(0.1)
    run = tracker.open_run("nb/killed")
    assert run.state == "crashed"
    assert run.history("loss").steps.tolist() == list(range(100))
    resumed = tracker.init(project="nb", id="killed", resume="must", quiet=True)
    assert resumed.step == 99


@pytest.mark.parametrize("now", [False, True])
def test_a_restarted_kernel_leaves_its_run_whole_and_opens_the_next_one(now: bool) -> None:
    """`now`: by SIGKILL at once, as "Restart" of most pages does where the kernel is busy; else it is asked to go."""
    cell = "import tracker\nrun = tracker.init(project='nb')\nfor i in range(100): run.log({'loss': 1.0}, step=i)\n"
    cell += "print(run.uid)"
    client = client_of(cell)
    with client.setup_kernel():
        client.execute_cell(client.nb.cells[0], 0)
        before = output_of(client.nb.cells[0]).strip()
        # What nbclient lends to notebooks: the manager of the same kernel, and the client that waits for it.
        run_sync(client.km.restart_kernel(now=now))
        run_sync(client.kc.wait_for_ready(timeout=PATIENCE_S))
        client.execute_cell(client.nb.cells[0], 0)
        after = output_of(client.nb.cells[0]).strip()
        end = time.monotonic() + PATIENCE_S
        while tracker.open_run(before).state == "running" and time.monotonic() < end:
            time.sleep(0.1)
        assert tracker.open_run(after).state == "running"
    assert before != after
    # One that is asked ends its process, and with it the run, where it has the time for it.
    assert tracker.open_run(before).state in (("crashed",) if now else ("finished", "crashed"))
    assert tracker.open_run(before).history("loss").steps.tolist() == list(range(100))


class Tags(html.parser.HTMLParser):
    """What is in a page, and whether each tag is closed in its order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not any(name.startswith("on") or name in ("href", "src") for name, _ in attrs)
        self.seen.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_characters_that_turn_or_hide_text_are_shown_in_a_page() -> None:
    run = tracker.init(project="nb", config={"k": "a\u202eb\x1b[31m\u200bc\nd", "caf\u00e9": "\u4e2d"}, quiet=True)
    run.log({"los\u202es": 1.0}, step=0)
    run.finish()
    page = tracker.open_run(run.uid)._repr_html_()
    assert not {"\u202e", "\x1b", "\u200b"} & set(page)
    for shown in ("a\\u202eb\u241b[31m\\u200bc\nd", "los\\u202es", "caf\u00e9", "\u4e2d"):
        assert shown in page


# Reaches the limits ALERTS_MAX, CONFIG_MAX, METRICS_MAX, TEXT_MAX.
def test_a_page_is_bounded_and_escaped() -> None:
    evil = "<script>alert(1)</script>"
    config = {f"<b>{i}": evil * 1000 for i in range(30)}
    run = tracker.init(project="nb", id="shown", config=config, notes=evil, quiet=True)
    for i in range(30):
        run.alert(evil, evil)
        for step in range(300):
            run.log({f"{evil}{i}": float("nan") if step == 7 else step * 1e306}, step=step)
    pages = [run._repr_html_()]
    run.finish()
    pages.append(tracker.open_run("nb/shown")._repr_html_())
    for page in pages:
        tags = Tags()
        tags.feed(page)
        assert tags.open == []
        assert "script" not in tags.seen
        assert tags.seen.count("svg") == 20
        assert tags.text.count("and 10 more") == 2
        assert evil in tags.text
        assert len(page) < 200_000
    assert "running" in pages[0]
    assert "finished" in pages[1]


def test_a_run_that_records_nothing_has_a_page_too() -> None:
    run = tracker.init(project="nb", mode="disabled")
    assert "not recording" in run._repr_html_()
