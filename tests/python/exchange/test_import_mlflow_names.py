# SPDX-License-Identifier: MIT
"""Goal: what MLflow writes into a meta.yaml is read as MLflow reads it, without PyYAML, and what it does not write is
refused.

Method: documents that PyYAML 6.0.4 dumped as MLflow calls it (`CSafeDumper`, `allow_unicode=True`), as literals;
lines that no dumper writes. Random ones: tests/real_tools/test_yaml_names.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from importing import import_json, opened
from tracker.exchange.mlflow_yaml import MetaError, read_meta

# (text, what follows `name: `)
DUMPED = [
    ("it's: x", "'it''s: x'"),
    (
        (
            "long word word word word word word word word word word word "
            "word word word word word word word word word word word word "
            "word word word word word word word end"
        ),
        (
            "long word word word word word word word word word word word "
            "word word word word\n  word word word word word word word "
            "word word word word word word word word end"
        ),
    ),
    ("a # b", "'a # b'"),
    ('"q"', "'\"q\"'"),
    ("null", "'null'"),
    ("~", "'~'"),
    ("123", "'123'"),
    ("1e3", "1e3"),
    ("yes", "'yes'"),
    ("tab\there", '"tab\\there"'),
    ("new\nline", "'new\n\n  line'"),
    ("two\n\n\nlines", "'two\n\n\n\n  lines'"),
    ("\xe9 \xfc", "\xe9 \xfc"),
    ("- dash", "'- dash'"),
    ("\U0001f642 emoji", '"\\U0001F642 emoji"'),
    ("multi'quote\"mix: \\n", "'multi''quote\"mix: \\n'"),
    (" led", "' led'"),
    ("trailing ", "'trailing '"),
    ("", "''"),
    ("a\x85b", '"a\\Nb"'),
    ("a\u2028b", "'a\u2028  b'"),
    ("bell\x07", '"bell\\a"'),
    (
        (
            "quote ' and words words words words words words words words "
            "words words words words words words words words words words "
            "words words it's"
        ),
        (
            "quote ' and words words words words words words words words "
            "words words words\n  words words words words words words "
            "words words words it's"
        ),
    ),
    (
        (
            "tab\twords words words words words words words words words "
            "words words words words words words words words words words "
            "words end"
        ),
        (
            '"tab\\twords words words words words words words words words '
            "words words words\n  words words words words words words "
            'words words end"'
        ),
    ),
    (
        ("\\ slash \n  indented \n  indented \n  indented "),
        ('"\\\\ slash \\n  indented \\n  indented \\n  indented "'),
    ),
    ("nul\x00l", '"nul\\0l"'),
]


# Promise P6: A run of `mlruns` has the names that MLflow shows; of a damaged `meta.yaml` nothing is guessed.
@pytest.mark.parametrize(("text", "dump"), DUMPED)
def test_texts_are_read_as_yaml_has_them(text: str, dump: str) -> None:
    # Bug: quotes were cut off at the ends of a line, and that was all.
    assert read_meta(f"a: b\nname: {dump}\nstatus: 3\n") == {"a": "b", "name": text, "status": "3"}
    assert read_meta(f"name: {dump}") == {"name": text}


def test_an_experiment_and_a_run_have_their_names(tmp_path: Path) -> None:
    run = tmp_path / "mlruns" / "1" / "a"
    run.mkdir(parents=True)
    (run.parent / "meta.yaml").write_text("name: 'it''s: x'\n")
    (run / "meta.yaml").write_text('run_id: a\nrun_name: "\\U0001F642 caf\\xE9\\t1"\nstatus: 3\nstart_time: 1000\n')
    found = opened(tmp_path / "s", import_json(tmp_path / "s", tmp_path / "mlruns"))
    assert (found.project, found.id, found.created.timestamp()) == ("it's: x", "🙂 café_1", 1.0)


def test_nulls_lists_and_mappings_are_no_texts() -> None:
    text = "a: null\nb: []\nc: {}\nd:\n- x: 'y\n\n    z'\n- e: f\ng:\n  h: i\nj: true\nk: 'null'\nl:\n"
    assert read_meta(text) == {"j": "true", "k": "null"}


@pytest.mark.parametrize(
    "text",
    [
        *("a: &x b", "a: *b", "a: !t c", "a: [1]", "a: {b: 1}", "a: |\n  x", "a: >\n  x", "a: b # c", "a: b: c", "a:b"),
        *("a", "a: b\n\tc", "a: b\tc", '"a": b', "- a", "? a", "a: %b", "a: @b", "a: `b", "a: - b", "a: b:", "{}"),
        *('a: "b', "a: 'b", "a: 'b'c", 'a: "\\q"', 'a: "\\ud800"', 'a: "\\U00110000"', "a: b\0", "a: \x1b", "  a: b"),
    ],
)
def test_what_no_dumper_writes_is_refused(text: str) -> None:
    with pytest.raises(MetaError):
        read_meta(f"first: 1\n{text}\n")


def test_long_runs_of_anything_cost_no_square_of_their_time() -> None:
    n = 200_000
    for text in ("a: " + " " * n, 'a: "' + " " * n, f"a: '{' ' * n}'", "a: x" + "\n " * n, 'a: "' + "\\ " * n, "'" * n):
        try:
            read_meta(text)
        except MetaError:
            pass
