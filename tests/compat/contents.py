# SPDX-License-Identifier: MIT
"""What must be read from a store, as one document: by the library, by the second reader, and by `tracker export`.

A run is {uid, state, points, dropped, config, summary, texts, metrics}; of each metric `all` (each row, in the order
logged) and `resolved`, in columns, values as the bits of their type.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

COLUMNS = ("steps", "times_us", "bits", "attempts", "ranks")
TYPES = {1: "float64", 2: "float32", 3: "float16", 4: "bfloat16", 5: "int64", 6: "bool"}
NAMES_OF_NUMBERS = {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf", "true": "1", "false": "0"}


def same(a: Any, b: Any) -> bool:
    """NaN is NaN here; 1, 1.0 and true are not the same."""
    return json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)


def by_library(store: Path) -> dict[str, Any]:
    import tracker

    return {f"{run.project}/{run.id}": _run(run) for run in tracker.runs(dir=str(store))}


def _run(run: Any) -> dict[str, Any]:
    assert run.problems == (), run.problems
    losses = run.losses
    return {
        "uid": run.uid,
        "state": run.state,
        "points": run.points,
        "dropped": losses.dropped,
        "config": run.config,
        "summary": run.summary,
        "texts": {name: [[row.step, row.text] for row in run.texts(name, all=True)] for name in run.text_names()},
        "metrics": {
            name: {
                "type": run.history(name).dtype_logged,
                "all": _columns(run.history(name, all=True)),
                "resolved": _columns(run.history(name)),
            }
            for name in run.series()
        },
    }


def _columns(rows: Any) -> dict[str, list[Any]]:
    steps = [int(step) if there else None for step, there in zip(rows.steps, rows.has_step, strict=True)]
    bits = np.ascontiguousarray(rows.values).view(f"uint{8 * rows.values.dtype.itemsize}")
    return {
        "steps": steps,
        "times_us": [round(float(time) * 1e6) for time in rows.times],
        "bits": [int(value) for value in bits],
        "attempts": rows.attempts.tolist(),
        "ranks": rows.ranks.tolist(),
    }


STREAMS = {1: "stdout", 2: "stderr"}


def told_by_library(store: Path) -> dict[str, Any]:
    """What is said beside rows, by run, and under "artifacts" those of the store."""
    import tracker

    out = {f"{run.project}/{run.id}": _told(run) for run in tracker.runs(dir=str(store))}
    artifacts: dict[str, dict[str, Any]] = {}
    for version in tracker.artifacts(dir=str(store)):
        version.verify()
        artifacts.setdefault(f"{version.project}/{version.name}", {})[version.version] = {
            "type": version.type,
            "digest": version.digest,
            "aliases": sorted(version.aliases),
            "tags": sorted(version.tags),
            "description": version.description,
            "metadata": version.metadata,
            "expires": version.expires is not None,
            "files": [[f.name, f.size, f.digest, f.uri, f.checksum] for f in version.files()],
        }
    return out | {"artifacts": artifacts}


def _told(run: Any) -> dict[str, Any]:
    definitions: dict[str, dict[str, Any]] = {}
    for metric in run.metrics():
        said = {key: getattr(metric, key) for key in ("step_metric", "summary", "goal") if getattr(metric, key)}
        if said:
            definitions[metric.name] = {k: list(v) if k == "summary" else v for k, v in said.items()}
    media = [[name, e.step, e.info] for name in run.media_names() for e in run.media(name, all=True)]
    return {
        "environment": run.environment,
        "definitions": definitions,
        "media": sorted(media, key=_text),
        "alerts": [[alert.level, alert.title, alert.text, alert.step] for alert in run.alerts],
        "console": sorted([line.rank, line.stream, line.line, line.text, line.updates] for line in run.console()),
        "outputs": sorted([use.name, use.type, use.digest, use.use_as] for use in run.outputs),
        "inputs": sorted([use.name, use.type, use.digest, use.use_as] for use in run.inputs),
    }


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def told_by_second_reader(read_run: Callable[..., Any], read_artifacts: Callable[..., Any], store: Path) -> Any:
    """As told_by_library(), of runs at rest."""
    out: dict[str, Any] = {}
    for document in sorted(store.glob("runs/*/*/run.json")):
        run = read_run(document.parent, None)
        out[f"{run.identity['project']}/{run.identity['id']}"] = told_of(run)
    return out | {"artifacts": artifacts_of(read_artifacts(store))}


def told_of(run: Any) -> dict[str, Any]:
    definitions = {name: run.definition(name) for name in run.metrics()}
    return {
        "environment": run.environment(),
        "definitions": {name: said for name, said in definitions.items() if said},
        "media": sorted(([name, step, info] for name, step, info in run.media()), key=_text),
        "alerts": [list(alert) for alert in run.alerts()],
        "console": sorted([rank, STREAMS[stream], *rest] for rank, stream, *rest in run.console()),
        "outputs": _uses(run, "output"),
        "inputs": _uses(run, "input"),
    }


def _uses(run: Any, use: str) -> list[list[str]]:
    return sorted(
        [f"{one['project']}/{one['name']}:v{one['number']}", one["type"], one["digest"], one.get("use_as", "")]
        for one in run.artifacts(use)
    )


def artifacts_of(found: dict[str, list[Any]]) -> dict[str, Any]:
    return {
        name: {
            f"v{version.document['number']}": {
                "type": version.type,
                "digest": version.document["digest"],
                "aliases": sorted(version.aliases),
                "tags": sorted(version.tags),
                "description": version.document["description"],
                "metadata": version.document["metadata"],
                "expires": version.expires_us is not None,
                "files": [[e.path, e.size, e.digest, e.uri, e.checksum] for e in version.entries],
            }
            for version in versions
        }
        for name, versions in found.items()
    }


def by_second_reader(read_run: Callable[..., Any], store: Path, journals: Path | None) -> dict[str, Any]:
    """All but `state` and the summary's values that follow from rows."""
    out = {}
    for document in sorted(store.glob("runs/*/*/run.json")):
        run = read_run(document.parent, journals)
        texts: dict[str, list[Any]] = {}
        for name, step, text in run.texts():
            texts.setdefault(name, []).append([step, text])
        metrics = {}
        for name in run.metrics():
            rows = {"all": run.placed(name), "resolved": run.resolved(name)}
            kinds = {row.value_type for _, row in rows["all"]}
            metrics[name] = {"type": "/".join(TYPES[kind] for kind in sorted(kinds))}
            metrics[name] |= {view: _placed(found) for view, found in rows.items()}
        out[f"{run.identity['project']}/{run.identity['id']}"] = {
            "uid": run.identity["uid"],
            "points": run.points(),
            "dropped": run.dropped(),
            "config": run.config(),
            "summary": run.explicit_summary(),
            "texts": texts,
            "metrics": metrics,
        }
    return out


def _placed(rows: Iterable[tuple[Any, Any]]) -> dict[str, list[Any]]:
    found = list(rows)
    return {
        "steps": [row.step for _, row in found],
        "times_us": [row.time_us for _, row in found],
        "bits": [row.bits for _, row in found],
        "attempts": [writer.identity["attempt"] for writer, _ in found],
        "ranks": [writer.identity.get("rank", 0) for writer, _ in found],
    }


def command(store: Path, *arguments: str, code: int = 0) -> str:
    """Runs `tracker ARGUMENTS` on the store; returns stdout and, on another code, says what it said."""
    done = subprocess.run(
        [sys.executable, "-m", "tracker", *arguments, "--dir", str(store)],
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == code, f"{arguments} returned {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def by_export(store: Path, run: str, types: dict[str, str], all_rows: bool) -> dict[str, dict[str, list[Any]]]:
    """The metrics of `types`, in the columns of by_library; a NaN's payload is not part of a text."""
    text = command(store, "export", run, "--format", "jsonl", *(["--all"] if all_rows else []))
    out: dict[str, dict[str, list[Any]]] = {name: {column: [] for column in COLUMNS} for name in types}
    for line in text.split("\n")[:-1]:  # a text may hold other ends of lines
        row = json.loads(line, parse_float=str, parse_int=str)
        if row.get("metric") not in types:  # the first line is the run
            continue
        columns = out[row["metric"]]
        columns["steps"].append(None if row["step"] is None else int(row["step"]))
        columns["times_us"].append(int(row["time"].replace(".", "")))
        columns["bits"].append(_bits(str(row["value"]), types[row["metric"]]))
        columns["attempts"].append(int(row["attempt"]))
        columns["ranks"].append(int(row["rank"]))
    return out


def _bits(text: str, kind: str) -> int:
    if kind == "bool":
        return int(text == "True" or text == "1")
    if kind == "int64":
        return int(text) & (1 << 64) - 1
    return bits_of(float(NAMES_OF_NUMBERS.get(text, text)), kind)


def bits_of(value: float, kind: str) -> int:
    """Of the nearest number of the type; of a NaN the usual ones."""
    if kind == "bfloat16":
        import ml_dtypes

        return int(np.array([value]).astype(ml_dtypes.bfloat16).view("uint16")[0])
    with np.errstate(over="ignore"):
        return int(np.array([value]).astype(kind).view(f"uint{8 * np.dtype(kind).itemsize}")[0])


def is_nan(bits: int, kind: str) -> bool:
    exponent, width = {"float64": (11, 64), "float32": (8, 32), "float16": (5, 16), "bfloat16": (8, 16)}[kind]
    fraction = width - 1 - exponent
    return bits >> fraction & (1 << exponent) - 1 == (1 << exponent) - 1 and bits & (1 << fraction) - 1 != 0
