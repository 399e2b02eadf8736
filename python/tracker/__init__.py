# SPDX-License-Identifier: MIT
"""An experiment tracker that lives inside the training process.

    run = tracker.init(project="mnist", config={"lr": 0.1})
    run.log({"loss": 0.3, "val/acc": 0.9}, step=i)
    run.finish()
    tracker.open_run("mnist/brisk-otter").history("loss").values

Nothing but the compiled core is imported here; NumPy and pandas are used where they are, when a history is read.
"""

from __future__ import annotations

try:
    from tracker import _core
except ImportError as error:
    from tracker._load_error import explain

    raise ImportError(explain(error)) from error

from tracker._core import (
    ClosedError,
    CorruptError,
    LimitError,
    Metric,
    NotFoundError,
    StoreError,
    TrackerError,
)
from tracker._open_runs import log
from tracker._recording.init import init
from tracker._recording.module_verbs import define_metric, finish, flush, log_artifact, use_artifact
from tracker._recording.run import Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os

    from tracker._artifacts.artifact import Artifact as Artifact
    from tracker._media.audio_video import Audio as Audio
    from tracker._media.audio_video import Video as Video
    from tracker._media.documents import Html as Html
    from tracker._media.documents import Markdown as Markdown
    from tracker._media.documents import Plotly as Plotly
    from tracker._media.documents import Text as Text
    from tracker._media.histograms_curves import Histogram as Histogram
    from tracker._media.histograms_curves import confusion_matrix as confusion_matrix
    from tracker._media.histograms_curves import pr_curve as pr_curve
    from tracker._media.histograms_curves import roc_curve as roc_curve
    from tracker._media.image import Image as Image
    from tracker._media.medium import Media as Media
    from tracker._media.table import Table as Table
    from tracker._reading.attempts_ranks import AcrossRanks as AcrossRanks
    from tracker._reading.attempts_ranks import Attempt as Attempt
    from tracker._reading.attempts_ranks import Rank as Rank
    from tracker._reading.connect import Connection as Connection
    from tracker._reading.history import History as History
    from tracker._reading.history import Table as HistoryTable
    from tracker._reading.run_list import RunList as RunList
    from tracker._reading.stored_media import MediaEntry as MediaEntry
    from tracker._reading.stored_media import TableData as TableData
    from tracker._reading.stored_objects import ArtifactFile as ArtifactFile
    from tracker._reading.stored_objects import ArtifactList as ArtifactList
    from tracker._reading.stored_objects import ArtifactUse as ArtifactUse
    from tracker._reading.stored_objects import RefusedArtifact as RefusedArtifact
    from tracker._reading.stored_objects import StoredArtifact as StoredArtifact
    from tracker._reading.stored_objects import StoredRun as StoredRun
    from tracker._recording.config_summary import Config, Summary

    run: Run | None
    config: Config
    summary: Summary

__version__: str = _core.version

__all__ = [
    "AcrossRanks",
    "Artifact",
    "ArtifactFile",
    "ArtifactList",
    "ArtifactUse",
    "Attempt",
    "Audio",
    "ClosedError",
    "CorruptError",
    "Histogram",
    "History",
    "HistoryTable",
    "Html",
    "Image",
    "LimitError",
    "Markdown",
    "Media",
    "MediaEntry",
    "Metric",
    "NotFoundError",
    "Plotly",
    "Rank",
    "RefusedArtifact",
    "Run",
    "RunList",
    "StoreError",
    "StoredArtifact",
    "StoredRun",
    "Table",
    "TableData",
    "Text",
    "TrackerError",
    "Video",
    "__version__",
    "artifact",
    "artifacts",
    "config",
    "confusion_matrix",
    "connect",
    "define_metric",
    "finish",
    "flush",
    "init",
    "log",
    "log_artifact",
    "login",
    "open_run",
    "pr_curve",
    "roc_curve",
    "run",
    "runs",
    "summary",
    "use_artifact",
]

# Media, and types of what is read: imported when they are asked for, as most runs log and read none.
_LATER = {
    **dict.fromkeys(("Audio", "Video"), "_media.audio_video"),
    **dict.fromkeys(("Html", "Markdown", "Plotly", "Text"), "_media.documents"),
    **dict.fromkeys(("Histogram", "confusion_matrix", "pr_curve", "roc_curve"), "_media.histograms_curves"),
    **dict.fromkeys(("MediaEntry", "TableData"), "_reading.stored_media"),
    "Image": "_media.image",
    "Media": "_media.medium",
    "Table": "_media.table",
    **dict.fromkeys(("History", "HistoryTable"), "_reading.history"),
    "RunList": "_reading.run_list",
    "StoredRun": "_reading.stored_objects",
    **dict.fromkeys(("AcrossRanks", "Attempt", "Rank"), "_reading.attempts_ranks"),
    "Artifact": "_artifacts.artifact",
    **dict.fromkeys(
        ("ArtifactFile", "ArtifactList", "ArtifactUse", "RefusedArtifact", "StoredArtifact"), "_reading.stored_objects"
    ),
}
_NOT_YET = frozenset({"sync", "upload"})


def runs(
    project: str | None = None,
    *,
    where: str | None = None,
    sort: str | None = None,
    limit: int | None = None,
    offset: int = 0,
    dir: str | None = None,
) -> RunList:
    """The runs of a store, newest first: a sequence whose items are what open_run() returns.

    project: only its runs. where: only those that match, such as 'config.lr < 0.1 and state = finished'. sort: another
    order, such as '-metrics.val/acc.max,created'. docs/filter.md describes both. limit, offset: one page of them.
    dir: the store; default: where init() would record. Without a store the list is empty, unless dir or TRACKER_DIR
    names one: then NotFoundError. Raises ValueError with the column of a mistake in where or sort, LimitError beyond
    their bounds; damaged runs are named by a RuntimeWarning. Runs whose process died are recovered first.
    Threads: any. Cost: a stat a run and a read of every run that changed since the last listing; the runs themselves
    are opened when they are read.
    """
    from tracker._reading.find_runs import list_runs

    return list_runs(project, where, sort, limit, offset, dir)


def login(host: str | None = None, token: str | None = None) -> bool:
    """Saves a server and its token in one file of the user's config folder, mode 0600, for runs with mode="online".

    True: the server answered and takes the token. False, with one line on stderr: it could not be asked, and both are
    saved all the same. ValueError where the host is none, or the server refuses the token; then nothing is saved.
    host, token: default TRACKER_HOST and TRACKER_TOKEN. Cost: one request, at most some 10 s.
    """
    from tracker._arguments import label

    return _core.login(label("host", host) or "", label("token", token) or "")


def open_run(name: str | os.PathLike[str], *, dir: str | None = None) -> StoredRun:
    """A run to read, live or ended: by "project/id", an id, the uid (6 digits or more), a name, or the beginning of an
    id; or by its folder, a pathlib.Path or a text that begins with "/", "./" or "../": that is only read, and needs no
    store.

    Raises NotFoundError with close names, ValueError that lists the runs where several fit. Threads: any.
    """
    from tracker._reading.find_runs import open_run as open_stored

    return open_stored(name, dir)


def connect(host: str | None = None, token: str | None = None) -> Connection:
    """A server to read from: its runs() and open_run() are as those of a store.

    host: its address, such as "https://runs.example"; default TRACKER_HOST, else that of login(). token: default
    TRACKER_TOKEN, else that of login() for this host. ValueError where either is missing or host is no address;
    StoreError where it does not answer, TrackerError where it is no tracker server or refuses the token.
    """
    from tracker._reading.connect import connect as connect_to

    return connect_to(host, token)


def artifact(name: str, *, project: str | None = None, dir: str | None = None) -> StoredArtifact:
    """A version of an artifact to read: "project/name:alias", "name:v3", "name@digest", or a name alone for the latest.

    project: of a name without one; default: TRACKER_PROJECT, else "default". Raises NotFoundError with close names.
    """
    from tracker._reading.stored_objects import find

    return find(name, project, dir)


def artifacts(project: str | None = None, *, type: str | None = None, dir: str | None = None) -> ArtifactList:
    """The versions of all artifacts of a store, or of one project, or type; the newest of each name first.

    Damaged documents are named by a RuntimeWarning. Cost: reads a small file a version.
    """
    from tracker._reading.stored_objects import list_all

    return list_all(project, type, dir)


def __getattr__(name: str) -> object:
    from tracker import _open_runs

    if name == "run":
        return _open_runs.find("tracker.run")
    if name in ("config", "summary"):
        return getattr(_open_runs.require(f"tracker.{name}"), name)
    if name in _LATER:
        import importlib

        module = importlib.import_module(f"tracker.{_LATER[name]}")
        # Two are tables: Table is logged, HistoryTable is what history() of several metrics returns.
        kind: object = getattr(module, "Table" if name == "HistoryTable" else name)
        globals()[name] = kind
        return kind
    if name in _NOT_YET:
        raise AttributeError(f"tracker.{name} is not in this version yet")
    raise AttributeError(f"module 'tracker' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
