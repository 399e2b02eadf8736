# SPDX-License-Identifier: MIT
"""Files of media that wait (docs/formats/store.md), changed at random, and the reader of them. A program:

    python tests/support/spool_fuzz.py SEED FILES SECONDS

in a store that has the killed run of spooled.py with values of every kind. It ends behind so many files or seconds of
CPU, whichever comes last, and fails where a file does other than being stored, counted as dropped or left for a newer
version. The same seed changes the same files."""

from __future__ import annotations

import collections
import contextlib
import json
import os
import random
import re
import resource
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tracker
from tracker import _core, _media_late, _media_spool

BATCH = 24
# Of the process above what reading the same files unchanged took. What is mutated has at most 1 MiB a file.
MEMORY_MIB_MAX = 160
STORE = Path(os.environ["TRACKER_DIR"])
ENDS: collections.Counter[str] = collections.Counter()  # what became of the files
RUN = STORE / "runs" / "media" / "killed"
REASONS = {"spool damaged", "not encoded", "no room"}
WAITS = re.compile(
    r"it is of version \d+; this program reads 1|it is a value of a kind that this version does not know"
)
STORED = re.compile(
    r"media/[0-9a-f]{2}/[0-9a-f]{64}\.(png|jpg|gif|webp|svg|wav|mp3|ogg|flac|mp4|webm|mov|html|txt|md|json)"
)

# --- files ------------------------------------------------------------------------------------------------------------


def nested(depth: int, of: Callable[[Any], Any]) -> Any:
    out: Any = 1
    for _ in range(depth):
        out = of(out)
    return out


ODD: list[Callable[[], Any]] = [
    lambda: None, lambda: True, lambda: False, lambda: 0, lambda: -1, lambda: 1, lambda: 255, lambda: 1 << 20,
    lambda: 1 << 31, lambda: (1 << 63) - 1, lambda: -(1 << 63), lambda: 1 << 63, lambda: 1 << 200, lambda: 0.5,
    lambda: -0.0, lambda: 1e308, lambda: 5e-324, lambda: "", lambda: "png", lambda: "jpg", lambda: "svg",
    lambda: "RGBA", lambda: "L", lambda: "gif", lambda: "../../../x", lambda: "/tmp/x", lambda: "a\0b",
    lambda: "x" * 70_000, lambda: "x" * 2_000_000, lambda: "ü" * 300, list, dict, lambda: [[]],
    lambda: [1, 2], lambda: [1 << 40, 1 << 40], lambda: {"": ""}, lambda: {"digest": "0" * 64, "ext": "png"},
    lambda: {str(n): n for n in range(20)}, lambda: list(range(5000)), lambda: nested(60, lambda x: [x]),
    lambda: nested(200, lambda x: {"a": x}), lambda: nested(900, lambda x: [x]),
]  # fmt: skip
# Texts of JSON that Python's encoder does not write
RAW = [
    b"NaN",
    b"Infinity",
    b"1e999",
    b"-0",
    b"9" * 5000,
    b'"\\ud800"',
    b"\xff",
    b'{"a":1,"a":2}',
    b"[" * 5000,
    b"1.0",
    b"\0",
]
KEYS = [
    "kind",
    "digest",
    "ext",
    "bytes",
    "caption",
    "index",
    "said",
    "parts",
    "as",
    "boxes",
    "width",
    "text",
    "data",
    "x",
]


def places(node: Any, out: list[tuple[Any, Any]], depth: int = 0) -> list[tuple[Any, Any]]:
    """Each value in the tree: what holds it, and under which key."""
    for key, value in list(node.items()) if isinstance(node, dict) else list(enumerate(node)):
        out.append((node, key))
        if isinstance(value, (dict, list)) and len(out) < 2000 and depth < 50:
            places(value, out, depth + 1)
    return out


def change_json(dice: random.Random, said: dict[str, Any], others: list[dict[str, Any]]) -> None:
    all_of = places(said, [])
    if not all_of:
        return
    node, key = dice.choice(all_of)
    how = dice.randrange(10)
    if how < 5:
        node[key] = dice.choice(ODD)()
    elif how == 5:
        del node[key]
    elif how == 6:
        other, at = dice.choice(all_of)
        node[key], other[at] = json.loads(json.dumps([other[at], node[key]]))  # copies: no loops
    elif how == 7 and isinstance(node, dict):
        node[dice.choice(KEYS)] = dice.choice(ODD)()
    elif how == 8 and type(node[key]) is int:
        node[key] += dice.choice([-1, 1, 2, 1000])
    else:
        said["encoder"] = json.loads(json.dumps(dice.choice(others).get("encoder")))


def change_bytes(dice: random.Random, data: bytes) -> bytes:
    if not data:
        return dice.randbytes(3)
    at = dice.randrange(min(len(data), dice.choice([64, 600, len(data)])))
    how = dice.randrange(6)
    if how < 2:
        return data[:at] + bytes([data[at] ^ (1 << dice.randrange(8))]) + data[at + 1 :]
    if how == 2:
        return data[:at]
    if how == 3:
        return data[:at] + dice.randbytes(dice.randrange(1, 40)) + data[at:]
    if how == 4:
        return data[:at] + data[at + dice.randrange(1, 40) :]
    return data[:at] + bytes(min(len(data) - at, dice.randrange(1, 40))) + data[at + 40 :]


def file_of(text: bytes, payload: list[bytes]) -> bytes:
    return f"tracker-spool 1 {len(text)} {_core.crc32c(text):08x}\n".encode() + text + b"\n" + b"".join(payload)


def changed(dice: random.Random, number: int, bases: list[tuple[dict[str, Any], list[bytes]]]) -> bytes:
    base, parts = dice.choice(bases)
    said: dict[str, Any] = json.loads(json.dumps(base))
    said["time_us"] += number  # no two are the same value
    payload = list(parts)
    level = dice.randrange(10)
    if level >= 2:  # behind what checks the bytes
        for _ in range(dice.choice([0, 1, 1, 2, 5])):
            with contextlib.suppress(RecursionError):  # of the copies made here
                change_json(dice, said, [other for other, _ in bases])
        if dice.random() < 0.3 and payload:
            at = dice.randrange(len(payload))
            payload[at] = change_bytes(dice, payload[at])
        if dice.random() < 0.9 and "parts" in said:
            said["parts"] = [[len(part), _core.crc32c(part)] for part in payload]
    try:
        text = json.dumps(said, ensure_ascii=dice.random() < 0.5).encode(errors="surrogatepass")
    except RecursionError:
        text = b"[" * 2000 + b"]" * 2000
    if level == 9:
        at = text.find(b":", dice.randrange(len(text))) + 1
        end = min(x for x in (text.find(b",", at), text.find(b"}", at), len(text)) if x >= 0)
        text = text[:at] + dice.choice(RAW) + text[end:]
    elif level == 8:
        text = change_bytes(dice, text)
    data = file_of(text, payload)
    if level < 2:
        for _ in range(dice.choice([1, 1, 2, 8])):
            data = change_bytes(dice, data)
    return data


# --- what is done with them -------------------------------------------------------------------------------------------


def outside() -> dict[str, tuple[int, int]]:
    """All that lies around the run's folder."""
    out = {}
    for path in STORE.parent.rglob("*"):
        if RUN not in path.parents and path.is_file() and "catalog" not in path.name:
            out[str(path)] = (path.stat().st_size, path.stat().st_mtime_ns)
    return out


def memory_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


class Turn:
    """A batch of files in a fresh copy of the run."""

    def __init__(self, pristine: Path, writer: str) -> None:
        shutil.rmtree(RUN)
        shutil.copytree(pristine, RUN)
        (RUN / "media").mkdir(exist_ok=True)
        self._writer, self._before = writer, outside()
        self._known = {path.name for path in RUN.iterdir()}

    def read(self, files: list[bytes]) -> None:
        known = 0
        real = _media_late._Work._is_stored

        def is_stored(*arguments: Any) -> bool:
            nonlocal known
            found = real(*arguments)
            known += found
            return found

        _media_late._Work._is_stored = is_stored  # type: ignore[method-assign,assignment]
        try:
            for number, data in enumerate(files):
                (RUN / "media" / f"spool-{self._writer}-{number:016x}").write_bytes(data)
            lines = _media_late.encode_spooled(_core.Store.open(str(STORE)).find("media/killed"))
        finally:
            _media_late._Work._is_stored = real  # type: ignore[method-assign]
        left = sorted((RUN / "media").glob("spool-*"))
        ENDS.update({"left": len(left), "stored before": known})
        for line in lines:
            assert WAITS.search(line), f"one file stands in the way of the others: {line}"
        assert bool(left) == bool(lines), (left, lines)
        for path in left:
            self._check_left(path)
        self._check_run(len(files) - len(left) - known)
        assert self._before == outside(), "something was written outside the run's folder"

    def _check_left(self, path: Path) -> None:
        try:
            said, parts = _media_spool.read(str(path))
            _media_late.encoder_of(said.get("encoder"), [part.nbytes for part in parts])
        except _media_spool.NewerError:
            return
        raise AssertionError(f"{path} waits, and nothing stands in its way")

    def _check_run(self, ended: int) -> None:
        stored = tracker.open_run("media/killed")
        account = stored.media_account
        assert set(account["by_reason"]) <= REASONS, account
        ENDS.update({"stored": account["stored"], **account["by_reason"]})
        assert account["stored"] + account["dropped"] == ended, (account, ended)
        entries = [entry for name in stored.media_names() for entry in stored.media(name, all=True)]
        assert len(entries) == account["stored"], "what is stored can be read"
        assert stored.state == "crashed"
        assert not stored.problems, stored.problems
        assert len(stored.history("loss").values) == 1
        for entry in entries:
            assert entry.path is None or STORED.fullmatch(str(Path(entry.path).relative_to(RUN))), entry.path
            with contextlib.suppress(Exception):  # bytes of a file that was given as it is may be anything
                entry.load()
        for path in RUN.rglob("*"):
            name = str(path.relative_to(RUN))
            fits = STORED.fullmatch(name) or name.startswith("media/spool-") or name in self._known
            assert path.is_dir() or fits, f"{name} is not of a run"


def main(seed: int, files: int, seconds: float) -> None:
    dice = random.Random(seed)
    spooled = sorted((RUN / "media").glob("spool-*"))
    writer = spooled[0].name.split("-")[1]
    bases = []
    for path in spooled:
        said, parts = _media_spool.read(str(path))
        bases.append((said, [bytes(part) for part in parts]))
        path.unlink()
    bases.sort(key=lambda base: (base[0]["key"], base[0].get("index", 0)))
    for number, (said, _) in enumerate(bases):  # the same files for the same seed, whenever they were logged
        said["time_us"] = 1_700_000_000_000_000 + number * 1_000_000_000
    tracker.open_run("media/killed")  # recovers its journal
    pristine = STORE.parent / "pristine"
    shutil.copytree(RUN, pristine)
    Turn(pristine, writer).read([file_of(json.dumps(said).encode(), parts) for said, parts in bases])
    assert tracker.open_run("media/killed").media_account["stored"] == len(bases)
    least, done, begin = memory_mib(), 0, time.process_time()
    while done < files or time.process_time() - begin < seconds:
        batch = [changed(dice, done + n, bases) for n in range(BATCH)]
        try:
            Turn(pristine, writer).read(batch)
        except BaseException:
            kept = STORE.parent / "failed"
            kept.mkdir(exist_ok=True)
            for number, data in enumerate(batch):
                (kept / f"{number:02}").write_bytes(data)
            print(f"behind {done} files, those of the batch are in {kept}", flush=True)
            raise
        done += BATCH
        assert memory_mib() - least < MEMORY_MIB_MAX, f"{memory_mib() - least:.0f} MiB more behind {done} files"
    print(
        f"{done} files, {time.process_time() - begin:.0f} s of CPU, {memory_mib() - least:.0f} MiB more: {dict(ENDS)}"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
