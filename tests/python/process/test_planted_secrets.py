# SPDX-License-Identifier: MIT
"""Goal: secrets of every known form, wherever a run takes a text, are in no file of the store; what is the user's own
bytes, and what names a thing, is as docs/environment.md says.
Method: each form is planted at each place, each time as another secret; then every byte of the store is searched."""

from __future__ import annotations

import base64
import hashlib
import itertools
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tracker
from tracker._media import media_files

_numbers = itertools.count()


class Planted:
    """Secrets that are in the store's files may be none."""

    def __init__(self) -> None:
        self.needles: dict[tuple[str, str], str] = {}

    def __call__(self, place: str, forms: str = "aws github hf sk jwt url") -> str:
        digest = hashlib.sha256(f"{place} {next(_numbers)}".encode()).hexdigest()
        letters = base64.b32encode(digest.encode()).decode()[:16]
        head = base64.urlsafe_b64encode(f'{{"alg":"HS256","x":"{digest[:9]}"}}'.encode()).decode().rstrip("=")
        body = base64.urlsafe_b64encode(f'{{"sub":"{digest[9:30]}"}}'.encode()).decode().rstrip("=")
        needles = {
            "aws": "AKIA" + letters, "github": "ghp_" + digest[:36], "hf": "hf_" + digest[3:37],
            "sk": "sk-" + digest[:48], "jwt": f"{head}.{body}.{digest[:43]}", "url": digest[:20],
        }  # fmt: skip
        for form in forms.split():
            self.needles[place, form] = needles[form]
        texts = {**needles, "url": f"https://user:{needles['url']}@host.example/x"}
        return " ".join(texts[form] for form in forms.split())

    def in_files(self, folder: Path) -> set[str]:
        data = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
        return {place for (place, _), needle in self.needles.items() if any(needle.encode() in each for each in data)}


FEW = "aws github hf url"


def svg_of(planted: Planted, place: str, filling: int = 0) -> str:
    return (
        f'<?xml version="1.0"?>\n<!-- {planted(place + " comment")} -->\n'
        f'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><desc>{planted(place + " desc")}</desc>'
        f'<text x="1" y="2">Authorization: Bearer {planted(place + " text")}</text>'
        f'<a href="{planted(place + " href", "url")}?token={planted(place + " query", "hf")}&amp;b=1">'
        '<path d="M0 0"/></a>'
        f"<style><![CDATA[ .a {{ color: red }} /* {planted(place + ' style')} */ ]]></style>"
        f"<metadata>{'x' * filling}</metadata></svg>"
    )


def shape(document: str) -> list[tuple[str, list[str]]]:
    return [(each.tag, sorted(each.attrib)) for each in ET.fromstring(document).iter()]


def test_a_picture_of_svg_is_without_its_secrets_and_stays_one(run: tracker.Run, store: Path, tmp_path: Path) -> None:
    planted = Planted()
    by_path, as_bytes, large = (svg_of(planted, p, n) for p, n in (("path", 0), ("bytes", 0), ("large", 3_000_000)))
    (tmp_path / "a.svg").write_text(by_path)
    (tmp_path / "a.svg").rename(path := tmp_path.parent / f"{tmp_path.name}.svg")
    mask = {"m": {"mask": np.arange(81, dtype=np.uint8).reshape(9, 9)}}
    run.log({"path": tracker.Image(path), "bytes": tracker.Image(as_bytes.encode(), masks=mask)}, step=0)
    run.log({"large": tracker.Image(large.encode())}, step=0)
    run.finish()
    assert planted.in_files(store) == set()
    stored = tracker.open_run(run.uid)
    for name, given in (("path", by_path), ("bytes", as_bytes), ("large", large)):
        (entry,) = stored.media(name)
        assert shape(entry.load()) == shape(given)
        assert entry.load().count("[redacted]") >= 20
        assert entry.info["bytes"] == len(entry.bytes)
    assert (stored.media("bytes")[0].masks()["m"] == mask["m"]["mask"]).all()
    assert run.status().values_redacted >= 60


def test_a_picture_of_svg_that_is_stored_raw_is_without_its_secrets(
    run: tracker.Run, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tracker._media import encode_queue

    planted = Planted()
    mask = {"m": {"mask": np.arange(81, dtype=np.uint8).reshape(9, 9)}}
    tracker.Image(np.zeros((2, 2), np.uint8))
    with monkeypatch.context() as patch:
        patch.setattr(encode_queue.Queue, "_start", lambda queue: None)
        patch.setattr(encode_queue, "RAW_END_MS_MAX", 60_000)
        run.log({"a": tracker.Image(svg_of(planted, "raw").encode(), masks=mask)}, step=0)
        encode_queue.end(run._core, 0)
    assert {path.suffix for path in (Path(run.dir) / "media").rglob("*.*")} == {".svg", ".npy"}
    assert planted.in_files(store) == set()
    run.finish()
    (entry,) = tracker.open_run(run.uid).media("a")
    assert (entry.masks()["m"] == mask["m"]["mask"]).all()
    assert planted.in_files(store) == set()


def test_an_svg_that_is_too_large_to_be_searched_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(media_files, "FILE_COPIED_BYTES_MAX", 100)
    (tmp_path / "a.svg").write_text("<svg>" + "x" * 89 + "</svg>")
    tracker.Image(tmp_path / "a.svg")
    (tmp_path / "a.svg").write_text("<svg>" + "x" * 90 + "</svg>")
    problem = tracker.Image(tmp_path / "a.svg").problem or ""
    assert "an SVG of 101 bytes; at most 100, for it is searched for secrets" in problem


def logged_everywhere(planted: Planted) -> tracker.Run:
    run = tracker.init(
        project="p", id="planted", quiet=True, name="n " + planted("name", FEW), tags=[planted("tag", "github"), "x"],
        group=planted("group", FEW), job_type=planted("job type", FEW), notes=planted("notes"),
        config={"a": planted("config"), "b": [{"c": planted("config, deep")}]},
    )  # fmt: skip
    run.summary["s"] = planted("summary")
    zeros: Any = np.zeros((4, 4, 3), np.uint8)
    boxes = [{"box": (0, 0, 1, 1), "label": planted("label of a box", FEW)}]
    masks = {"m": {"mask": zeros[:, :, 0], "labels": {0: planted("label of a mask", FEW)}}}
    run.log({"image": tracker.Image(zeros, caption=planted("caption"), boxes=boxes, masks=masks)}, step=0)
    run.log({"page": tracker.Html(f"<p>{planted('page')}</p>")}, step=0)
    run.log({"large": tracker.Html(f"<p>{planted('large page')}</p>" + "x" * 70_000)}, step=0)
    run.log({"text": planted("text"), "md": tracker.Markdown(planted("markdown"))}, step=0)
    rows = [[planted("cell"), 1]]
    run.log({"table": tracker.Table(rows, columns=[planted("column", FEW), "n"])}, step=0)
    rows = [[planted("cell of a file"), 1], *(["x" * 20, i] for i in range(9000))]
    run.log({"long": tracker.Table(rows, columns=[planted("column of a file", FEW), "n"])}, step=0)
    run.log({"matrix": tracker.confusion_matrix([0, 1], [1, 0], [planted("class", FEW), "b"])}, step=0)
    run.alert(planted("title of an alert", FEW), planted("text of an alert"))
    metadata = {"m": planted("metadata"), "l": [{"z": planted("metadata, deep")}]}
    artifact = tracker.Artifact("data", "dataset", description=planted("description"), metadata=metadata)
    uri = planted("address", "url") + "?token=" + planted("query of an address", "hf")
    artifact.add_reference(uri, name="ref", checksum=planted("checksum", FEW))
    run.log_artifact(artifact).wait()
    run.use_artifact("data:latest", use_as=planted("use", "github"))
    return run


# Promise P12: A secret of any known form is in no file of the store wherever a run takes a text; names of things and
# the user's own files are kept.
def test_of_texts_that_a_run_takes_no_secret_is_in_the_store(store: Path) -> None:
    planted = Planted()
    run = logged_everywhere(planted)
    run.finish()
    assert planted.in_files(store) == set()
    assert run.status().media_stored == run.status().media_logged == 7
    stored = tracker.open_run(run.uid)
    assert str(stored.media("image")[0].caption).count("[redacted]") == 6
    assert len(planted.needles) >= 110


def test_what_names_a_thing_and_the_users_own_files_are_kept_as_they_are(store: Path, tmp_path: Path) -> None:
    planted = Planted()
    with tracker.init(project="p", id="kept", quiet=True) as run:
        run.config[planted("key of config", "github")] = 1
        run.log({planted("metric", "github"): 1.0}, step=0)
        boxes = {planted("boxes", "github"): [(0, 0, 1, 1)]}
        run.log({"image": tracker.Image(np.zeros((4, 4), np.uint8), boxes=boxes)}, step=0)
        artifact = tracker.Artifact("data", "dataset", metadata={planted("key of metadata", "github"): 1})
        (tmp_path / "a.txt").write_text(planted("content of a file"))
        artifact.add_file(tmp_path / "a.txt", name=planted("path in an artifact", "github"))
        run.log_artifact(artifact).wait()
    expected = {"key of config", "metric", "boxes", "key of metadata", "content of a file", "path in an artifact"}
    assert planted.in_files(store) == expected
    token = planted("name of an artifact", "github")
    with pytest.raises(ValueError, match="never stored"):
        tracker.Artifact(token, "dataset")
