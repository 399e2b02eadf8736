# SPDX-License-Identifier: MIT
"""Goal: each limit that a caller can reach holds at its edge: one less and the limit are taken, one
more is refused or counted as the table says. Method: values of limit - 1, limit and limit + 1."""

from __future__ import annotations

from typing import Any

import pytest
import tracker

KEY_BYTES = 1024  # kKeyBytesMax
LABEL_BYTES = 256  # kLabelBytesMax
LOG_DEPTH = 32  # kDepthMax
INLINE_TEXT_BYTES = 64 * 1024  # kInlineTextBytesMax
DEFINITIONS = 4096  # kMetricDefinitionsMax
INT64_MAX = 2**63 - 1


def stored(run: tracker.Run) -> Any:
    run.finish()
    return tracker.open_run(run.uid)


@pytest.mark.parametrize("letter", ["k", "é"])
def test_a_key_may_have_1024_bytes(run: tracker.Run, letter: str) -> None:
    width = len(letter.encode())
    keys = [letter * (size // width) + "k" * (size % width) for size in (KEY_BYTES - 1, KEY_BYTES, KEY_BYTES + 1)]
    run.log(dict.fromkeys(keys, 1.0), step=0)
    assert run.status().values_rejected == 1
    for mapping in (run.config, run.summary):
        mapping[keys[0]] = 1
        mapping[keys[1]] = 1
        mapping[keys[2]] = 1
    assert run.status().values_rejected == 3
    run.define_metric(keys[1], summary="min")
    with pytest.raises(ValueError, match="1024"):
        run.define_metric(keys[2], summary="min")
    read = stored(run)
    assert sorted(read.series()) == sorted(keys[:2])
    assert set(read.summary) == set(keys[:2])
    assert set(read.config) == set(keys[:2])


def test_keys_of_a_whole_config_have_the_limit_of_a_single_one(capfd: pytest.CaptureFixture[str]) -> None:
    at, above, half = "k" * KEY_BYTES, "k" * (KEY_BYTES + 1), "h" * (KEY_BYTES // 2)
    run = tracker.init(project="p", config={at: 1, above: 2, half: {"x": 3, half: 4}, "a": 5})
    run.config.update({above: 6, "b": 7, half: {half: {"y": 8}}})
    run.config["c"] = {at: 9, "d": 10}
    expected = {at: 1, half: {"x": 3}, "a": 5, "b": 7, "c": {"d": 10}}
    assert run.config == expected
    assert run.status().values_rejected == 5
    said = capfd.readouterr().err
    assert said.count("at most 1024 are kept") == 2  # a line a key, named by how it begins
    assert "and so 1 more" in said
    assert stored(run).config == expected


@pytest.mark.parametrize("option", ["project", "id", "name", "group", "job_type", "tags"])
def test_a_label_may_have_256_bytes(option: str) -> None:
    for size in (LABEL_BYTES - 1, LABEL_BYTES, LABEL_BYTES + 1):
        value: Any = "x" * size
        arguments = {option: [value] if option == "tags" else value}
        if size > LABEL_BYTES:
            with pytest.raises(ValueError, match="256"):
                tracker.init(quiet=True, **arguments)
            continue
        with tracker.init(quiet=True, **arguments) as run:
            run.log({"x": 1})
        assert stored(run).points == 1


def nested(depth: int) -> dict[str, Any]:
    data: dict[str, Any] = {"x": 1.0}
    for _ in range(depth - 1):
        data = {"d": data}
    return data


def test_a_dict_in_log_may_be_nested_32_deep(run: tracker.Run) -> None:
    for depth in (LOG_DEPTH - 1, LOG_DEPTH):
        run.log(nested(depth), step=depth)
    assert run.status().values_rejected == 0
    run.log(nested(LOG_DEPTH + 1), step=0)
    assert run.status().values_rejected == 1
    assert len(stored(run).series()) == 2


def test_texts_around_64_kib_are_all_stored(run: tracker.Run) -> None:
    sizes = [INLINE_TEXT_BYTES - 1, INLINE_TEXT_BYTES, INLINE_TEXT_BYTES + 1]
    for step, size in enumerate(sizes):
        run.log({"text": "t" * size}, step=step)
    assert [len(row.text) for row in stored(run).texts("text")] == sizes


# Regression: a text above 64 KiB was stored after smaller ones that were logged later, and shown in their place.
def test_texts_of_one_step_stay_in_the_order_logged_whatever_their_sizes(run: tracker.Run) -> None:
    sizes = [INLINE_TEXT_BYTES + 1, 10, INLINE_TEXT_BYTES + 1, 20, 30, 2 * INLINE_TEXT_BYTES, 40]
    for size in sizes:
        run.log({"text": "t" * size}, step=1)
    texts = stored(run)
    assert [len(row.text) for row in texts.texts("text", all=True)] == sizes
    assert [len(row.text) for row in texts.texts("text")] == sizes[-1:]
    times = [row.time for row in texts.texts("text", all=True)]
    assert times == sorted(times)


def test_steps_reach_from_one_above_the_lowest_int64_to_the_largest(run: tracker.Run) -> None:
    for step in (-INT64_MAX, INT64_MAX - 1, INT64_MAX):
        run.log({"x": 1.0}, step=step)
    assert run.status().steps_changed == 0
    for step in (-INT64_MAX - 1, INT64_MAX + 1):
        run.log({"beyond": 1.0}, step=step)
    assert run.status().steps_changed == 2
    assert stored(run).history("x").steps.tolist() == [-INT64_MAX, INT64_MAX - 1, INT64_MAX]


def test_4096_metrics_may_be_defined(run: tracker.Run, capfd: pytest.CaptureFixture[str]) -> None:
    for number in range(DEFINITIONS):
        run.define_metric(f"m{number}", summary="min")
    assert "defined already" not in capfd.readouterr().err
    run.define_metric("m0", summary="max")  # one of them again
    run.define_metric("one more", summary="min")
    run.define_metric("and another", summary="min")
    lines = [line for line in capfd.readouterr().err.splitlines() if "4096 metrics and patterns are defined" in line]
    assert len(lines) == 1
    run.log({"m0": 1.0, "m4095": 1.0, "one more": 1.0}, step=0)
    run.log({"m0": 0.0, "m4095": 2.0, "one more": 2.0}, step=1)
    assert stored(run).summary == {"m0": 1.0, "m4095": 1.0, "one more": 2.0}


def test_one_definition_too_many_raises_in_a_strict_run(strict_run: tracker.Run) -> None:
    for number in range(DEFINITIONS):
        strict_run.define_metric(f"m{number}")
    with pytest.raises(tracker.LimitError, match="4096"):
        strict_run.define_metric("one more")
