# SPDX-License-Identifier: MIT
"""Formats for ever (F32, old store and new library): what each version has written reads as it did, bit by bit.

Method: the fixtures of tests/compat, one folder a version, read by the second reader (before anything is recovered), by
the library, which recovers what killed writers left, by `tracker export`, and again by both readers afterwards.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import tracker

COMPAT = Path(__file__).parents[2] / "compat"
VERSIONS = sorted(path.parent.name for path in COMPAT.glob("*/expected.json"))
WITH_CONTENTS = sorted(path.parent.name for path in COMPAT.glob("*/told.json"))


def expected_of(version: str) -> dict[str, Any]:
    expected: dict[str, Any] = json.loads((COMPAT / version / "expected.json").read_text())
    return expected


def contents_of(version: str) -> dict[str, Any]:
    """All but rows: config, summary, media, artifacts."""
    expected: dict[str, Any] = json.loads((COMPAT / version / "told.json").read_text())
    return expected


def compare_contents(found: dict[str, Any], expected: dict[str, Any], contents: ModuleType) -> None:
    assert sorted(found) == sorted(expected)
    for name, said in expected.items():
        assert sorted(found[name]) == sorted(said), name
        for key, value in said.items():
            assert contents.same(found[name][key], value), f"{name}: {key}"


def compare_second(found: dict[str, Any], expected: dict[str, Any], contents: ModuleType) -> None:
    assert sorted(found) == sorted(expected)
    for name, run in found.items():
        whole = expected[name]
        for key in ("uid", "points", "dropped", "config", "texts"):
            assert contents.same(run[key], whole[key]), f"{name}: {key}"
        assert sorted(run["metrics"]) == sorted(whole["metrics"])
        for metric, columns in run["metrics"].items():
            for key, value in columns.items():
                assert contents.same(value, whole["metrics"][metric][key]), f"{name}: {metric}: {key}"
        assert contents.same({key: whole["summary"].get(key) for key in run["summary"]}, run["summary"]), name


def test_there_is_a_fixture_of_each_version() -> None:
    assert "v" + ".".join(tracker.__version__.split(".")[:2]) in VERSIONS


@pytest.mark.parametrize("version", VERSIONS)
def test_the_documents_alone_are_enough_for_each_version(
    version: str, unpacked: Any, modules: dict[str, ModuleType]
) -> None:
    root, contents = unpacked(version), modules["contents"]
    journals = next((root / "shm").iterdir())
    assert list(journals.iterdir()), "killed writers are among them"
    found = contents.by_second_reader(modules["second"].read_run, root / "store", journals)
    compare_second(found, expected_of(version), contents)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_library_and_the_commands_read_each_version(
    version: str, unpacked: Any, modules: dict[str, ModuleType]
) -> None:
    root, contents, expected = unpacked(version), modules["contents"], expected_of(version)
    store = root / "store"
    found = contents.by_library(store)
    assert sorted(found) == sorted(expected)
    for name, run in expected.items():
        assert contents.same(found[name], run), name
        types = {metric: columns["type"] for metric, columns in run["metrics"].items()}
        for view, all_rows in (("all", True), ("resolved", False)):
            exported = contents.by_export(store, name, types, all_rows)
            for metric, columns in exported.items():
                compare_exported(columns, run["metrics"][metric][view], types[metric], contents)
    contents.command(store, "verify")
    compare_second(contents.by_second_reader(modules["second"].read_run, store, None), expected, contents)


def compare_exported(found: dict[str, Any], rows: dict[str, Any], kind: str, contents: ModuleType) -> None:
    for column in ("steps", "times_us", "attempts", "ranks"):
        assert found[column] == rows[column], column
    assert len(found["bits"]) == len(rows["bits"])
    for mine, theirs in zip(found["bits"], rows["bits"], strict=True):
        if kind in ("int64", "bool") or not contents.is_nan(theirs, kind):
            assert mine == theirs
        else:
            assert contents.is_nan(mine, kind)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_run_of_each_version_goes_on(version: str, unpacked: Any) -> None:
    store = unpacked(version) / "store"
    expected = expected_of(version)
    for name in expected:
        project, label = name.split("/")
        with tracker.init(project=project, id=label, resume="must", dir=str(store), quiet=True) as run:
            run.log({"added": 1.5}, step=7)
        again = tracker.open_run(name, dir=str(store))
        assert again.points == expected[name]["points"] + 1
        assert again.problems == ()


def test_the_newest_fixture_has_every_kind_of_content() -> None:
    expected = contents_of(WITH_CONTENTS[-1])
    everything = expected["compat/everything"]
    assert all(everything.values()), "a part of it is empty"
    assert {entry[2]["kind"] for entry in everything["media"]} >= {"image", "audio", "table", "histogram", "html"}
    versions = expected["artifacts"]["compat/model"]
    assert [sorted(said["aliases"]) for _, said in sorted(versions.items())] == [[], ["best"], ["latest", "next"]]
    assert (versions["v0"]["expires"], versions["v1"]["tags"]) == (True, ["good", "small"])
    assert any(entry[3] for entry in versions["v0"]["files"]), "a reference"


@pytest.mark.parametrize("version", WITH_CONTENTS)
def test_contents_beside_rows_read_as_they_did(version: str, unpacked: Any, modules: dict[str, ModuleType]) -> None:
    root, contents, expected = unpacked(version), modules["contents"], contents_of(version)
    compare_contents(contents.told_by_library(root / "store"), expected, contents)
    found = contents.told_by_second_reader(
        modules["second"].read_run, modules["artifact"].read_artifacts, root / "store"
    )
    compare_contents(found, expected, contents)


@pytest.mark.parametrize("version", WITH_CONTENTS)
def test_a_spill_file_of_each_version_is_read_with_its_rings(
    version: str, unpacked: Any, modules: dict[str, ModuleType]
) -> None:
    root, contents, expected = unpacked(version), modules["contents"], expected_of(version)["compat/spilled"]
    (folder,) = root.glob("store/runs/compat/spilled")
    journals = next((root / "shm").iterdir())
    stored = modules["second"].read_run(folder).points()
    (spill,) = [path for path in journals.glob("*/spill") if path.stat().st_size]
    (ring,) = spill.parent.glob("ring-*")
    ring.rename(root / "ring")
    spilled = modules["second"].read_run(folder, journals).points()
    (root / "ring").rename(ring)
    assert stored < spilled < expected["points"], "each of the three has a part of it"
    found = contents.by_library(root / "store")["compat/spilled"]
    assert contents.same(found, expected)


@pytest.mark.parametrize("version", WITH_CONTENTS)
def test_a_bundle_of_each_version_is_read_and_imported(
    version: str, unpacked: Any, modules: dict[str, ModuleType], tmp_path: Path
) -> None:
    root, contents, expected = unpacked(version), modules["contents"], contents_of(version)
    (file,) = (root / "bundles").iterdir()
    artifacts = contents.artifacts_of(modules["bundle"].unpack_bundle(file.read_bytes(), tmp_path / "run"))
    run = modules["second"].read_run(tmp_path / "run")
    compare_contents(
        {"compat/everything": contents.told_of(run)}, {"compat/everything": expected["compat/everything"]}, contents
    )
    (tmp_path / "other").mkdir()
    contents.command(tmp_path / "other", "import", str(file))
    found = contents.told_by_library(tmp_path / "other")
    compare_contents({"run": found["compat/everything"]}, {"run": expected["compat/everything"]}, contents)
    for name, versions in expected["artifacts"].items():
        for number, said in versions.items():
            assert contents.same(found["artifacts"][name][number], said), f"{name}:{number}"
            there = said | {"aliases": [alias for alias in said["aliases"] if alias != "latest"]}
            assert contents.same(artifacts[name][number], there), f"{name}:{number}"
