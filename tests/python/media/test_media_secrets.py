# SPDX-License-Identifier: MIT
"""Goal: secrets in media are in no file of the run and are counted, and each document can be read after that.
Method: plant them in captions, texts, cells and figures, small and large; then load all and search every byte."""

from __future__ import annotations

import json
import random
import threading
from pathlib import Path
from typing import Any

import pytest
import tracker
from pixels import pixels
from tracker._media import encode_queue

SECRET = "hf_" + "Ab3" * 12
LARGE = 4000  # rows that make a document a file


def loaded(run: tracker.Run, name: str) -> Any:
    (entry,) = tracker.open_run(run.uid).media(name)
    return entry.load()


def test_secrets_in_captions_texts_and_tables_are_redacted(run: tracker.Run) -> None:
    run.log(
        {
            "a": tracker.Image(pixels(), caption=f"by {SECRET}"),
            "b": tracker.Markdown(f"token {SECRET}"),
            "c": tracker.Html(f"<p>{SECRET}</p>" + "x" * 70_000),
            "d": tracker.Table([[SECRET, "plain"]], columns=["note", "api_key"]),
            "e": tracker.confusion_matrix([0, 1], [1, 0], [SECRET, "b"]),
        },
        step=0,
    )
    run.finish()
    stored = tracker.open_run(run.uid)
    assert stored.media("a")[0].caption == "by [redacted]"
    assert stored.media("d")[0].load().to_rows() == [("[redacted]", "[redacted]")]
    assert run.status().values_redacted == 6
    for path in Path(run.dir).rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes(), path


@pytest.mark.parametrize("size", [10, 100_000])
@pytest.mark.parametrize("kind", [tracker.Text, tracker.Markdown, tracker.Html])
def test_a_text_under_the_name_of_a_secret_goes_whole_as_a_str_does(run: tracker.Run, kind: Any, size: int) -> None:
    # Bug: a str under that name was redacted, and the same text as a medium was stored unchanged.
    plain = "swordfish " * size
    run.log({"password": kind(plain, caption="kept"), "note": kind(plain)}, step=0)
    run.log({"passwords/of/api_key": [kind(plain), kind("more")]}, step=0)
    run.finish()
    stored = tracker.open_run(run.uid)
    (entry,) = stored.media("password")
    assert (entry.load(), entry.caption) == ("[redacted]", "kept")
    assert [entry.load() for entry in stored.media("passwords/of/api_key")] == ["[redacted]"] * 2
    assert stored.media("note")[0].load() == plain
    assert run.status().values_redacted == 3


# Bug: the document was redacted as one text, and the secret took the quote of its cell with it.
@pytest.mark.parametrize("rows", [1, LARGE])
@pytest.mark.parametrize(
    ("cell", "kept"),
    [
        ("use api_key=abc123", "use api_key=[redacted]"),
        ("password: hunter2 ", "password: [redacted] "),
        ("-----BEGIN PRIVATE KEY-----", "[redacted]"),
        ("Authorization: Bearer abc\tdef", "Authorization: [redacted]"),
    ],
)
def test_a_cell_with_a_secret_is_redacted_alone_and_counted(run: tracker.Run, cell: str, kept: str, rows: int) -> None:
    run.log({"t": tracker.Table([[cell, "plain", i] for i in range(rows)], columns=["a", "b", "i"])}, step=0)
    run.flush()
    assert loaded(run, "t").to_rows() == [(kept, "plain", i) for i in range(rows)]
    assert run.status().values_redacted == rows


# Bug: tables of words and their tags came back as a column of "[redacted]".
def test_a_column_called_token_stays_and_one_called_password_goes_and_is_counted(run: tracker.Run) -> None:
    data = {"token": ["Paris", "runs"], "secret": ["a", "b"], "db_password": ["hunter2", None], "label": ["LOC", "O"]}
    run.log({"t": tracker.Table(data)}, step=0)
    run.flush()
    assert loaded(run, "t").columns == data | {"db_password": ["[redacted]", None]}
    assert run.status().values_redacted == 1


# Bug: what was written to the disk because memory was full lay there in clear.
def test_a_document_that_is_stored_raw_is_redacted(run: tracker.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()
    real = encode_queue.Item.write

    def held(*arguments: Any) -> None:
        go.wait(120)
        real(*arguments)

    monkeypatch.setattr(encode_queue.Item, "write", held)
    monkeypatch.setattr(encode_queue, "HELD_BYTES_MAX", 0)
    monkeypatch.setitem(encode_queue.queue()._used, "large", 1)
    monkeypatch.setattr(encode_queue, "RAW_CALL_MS_MAX", 60_000)
    try:
        run.log({"t": tracker.Table([[SECRET, i] for i in range(LARGE)], columns=["a", "i"])}, step=0)
        run.log({"h": tracker.Html(f"<p>{SECRET}</p>" + "x" * 70_000)}, step=0)
        written = [path.read_bytes() for path in (Path(run.dir) / "media").rglob("*") if path.is_file()]
    finally:
        go.set()
    assert len(written) == 2
    assert not any(SECRET.encode() in data for data in written)
    run.flush()
    assert loaded(run, "t").to_rows() == [("[redacted]", i) for i in range(LARGE)]
    assert loaded(run, "h").startswith("<p>[redacted]</p>")
    assert run.status().values_redacted == LARGE + 1


class Figure:
    """What tracker.Plotly() takes: it has to_json()."""

    def __init__(self, *names: str) -> None:
        self.document = {"data": [{"name": name} for name in names], "layout": {"mapbox": {"accesstoken": "pk.abc"}}}

    def to_json(self) -> str:
        return json.dumps(self.document)


@pytest.mark.parametrize("traces", [1, LARGE])
def test_a_figure_with_secrets_in_its_texts_can_be_read(run: tracker.Run, traces: int) -> None:
    run.log({"f": tracker.Plotly(Figure(*["run with secret_token=abc"] * traces))}, step=0)
    run.flush()
    document = loaded(run, "f")
    assert document["data"] == [{"name": "run with secret_token=[redacted]"}] * traces
    assert document["layout"] == {"mapbox": {"accesstoken": "[redacted]"}}
    assert run.status().values_redacted == traces + 1


def test_random_cells_of_the_forms_of_secrets_leave_every_table_readable(run: tracker.Run) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    pieces = [
        *("api_key=", "password: ", '"', "\\", "'", "-----BEGIN PRIVATE KEY-----", "\n", "\x1b[31m", "é", "\U0001f600"),
        *("https://u:", "@host", "Bearer ", "Cookie: ", "{", "]", ":", ",", " ", "?token=", "hf_", "\x00", "x"),
    ]

    def cell() -> str:
        return "".join(rng.choices(pieces, k=rng.randrange(9))) + " - " + SECRET

    for step in range(40):
        rows = [[cell(), "plain", cell()] for _ in range(rng.randrange(1, 1500 if step % 10 == 0 else 9))]
        run.log({"t": tracker.Table(rows, columns=["a", "b", "c"])}, step=step)
    run.flush()
    for entry in tracker.open_run(run.uid).media("t"):
        table = entry.load()
        assert table.columns["b"] == ["plain"] * len(table)
        assert not any(SECRET in text for text in table.columns["a"] + table.columns["c"])


def test_a_page_keeps_its_scripts_and_its_tags_and_loses_its_secrets(run: tracker.Run) -> None:
    """Bug: as prose a page of Plotly lost the ends of functions, and of a minified one all after a cell."""
    page = (
        '<script>fetch(u,{{credentials:"same-origin"}});key="{0}"</script><style>a{{color:red}}@media print{{}}</style>'
        "<table><td>--token={1}</td><td>last</td></table>"
    )
    given, kept = page.format(SECRET, "abc"), page.format("[redacted]", "[redacted]")
    run.log({"small": tracker.Html(given), "large": tracker.Html(given + " " * 100_000)}, step=0)
    run.finish()
    stored = tracker.open_run(run.uid)
    assert [stored.media(name)[0].load().rstrip() for name in ("small", "large")] == [kept, kept]


@pytest.mark.parametrize(
    "head", ["", "\ufeff", " \n", "<!-- a > b --><!DOCTYPE svg PUBLIC 'x' 'y'>\n", "<?xml version='1.0'?>"]
)
def test_a_picture_of_svg_may_begin_as_xml_does(run: tracker.Run, head: str) -> None:
    picture = f"{head}<svg xmlns='http://www.w3.org/2000/svg'/>".encode()
    run.log({"a": tracker.Image(picture)}, step=0)
    run.finish()
    assert tracker.open_run(run.uid).media("a")[0].bytes == picture


def test_xml_that_is_no_picture_is_none() -> None:
    image = tracker.Image(b"<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'/>")
    assert "none by its first bytes" in (image.problem or "")
