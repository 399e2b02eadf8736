# SPDX-License-Identifier: MIT
"""tracker.init(): checks the arguments, adds what only Python knows, and opens the run."""

from __future__ import annotations

import os
import sys

from tracker import _arguments, _core, _multiprocessing_parent, _open_runs
from tracker._console import stream_wrappers
from tracker._plain_values import plain_config, refuse
from tracker._reading.open_store import store_before_hydra
from tracker._recording import torch_process_group
from tracker._recording.run import Run

CELL_REASON = "another cell called init()"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Literal, Never

    from tracker._plain_values import Refused


_LABELS = (
    *("project", "name", "id", "resume", "resume_from", "duplicate_policy", "mode", "ranks", "journal", "on_full"),
    *("on_sigterm", "on_exit", "host", "token"),
)


def _torch_rank() -> dict[str, int]:
    """Rank and world size where torch.distributed is initialised. It is looked up, never imported."""
    distributed: Any = sys.modules.get("torch.distributed")
    try:
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            return {"torch_rank": distributed.get_rank(), "torch_world_size": distributed.get_world_size()}
    except Exception:  # a half-imported or replaced module decides nothing
        pass
    return {}


def _child_of_run() -> bool:
    """True in a multiprocessing child, of any generation, of a process that has a run."""
    if _multiprocessing_parent.is_above():
        return True
    process: Any = sys.modules.get("multiprocessing.process")
    if process is None or process.parent_process() is None:
        return False
    return any(run._pid != os.getpid() and run._recorded for run in _open_runs.live_runs())  # inherited by fork


def _python() -> dict[str, str]:
    """What only the interpreter knows of itself; packages are found by the core, on a thread of its own."""
    return {
        "implementation": sys.implementation.name,
        "version": ".".join(map(str, sys.version_info[:3])),
        "executable": os.fsencode(sys.executable or "").decode("utf-8", "replace"),
        "prefix": os.fsencode(sys.prefix).decode("utf-8", "replace"),
    }


def _gpu_trial() -> list[str]:
    """What tries the library of a GPU driver before the core loads it. Nothing where no interpreter can be started: a
    program that embeds Python, or is frozen, must not be started in its place."""
    program = __file__.removesuffix("init.py") + "gpu_trial.py"
    name = (sys.executable or "").rpartition("/")[2]
    if getattr(sys, "frozen", False) or not name.startswith(("python", "pypy")) or not os.access(program, os.R_OK):
        return []
    return [sys.executable, "-I", "-S", program]


def _paths() -> list[str]:
    """sys.path but for what is no text or no UTF-8."""
    out = []
    for path in sys.path:
        try:
            out.append(_arguments.utf8("a path", path))
        except (TypeError, ValueError):
            pass
    return out


def _source_folder() -> str | None:
    """Where the script lies that was started; None for a program of an environment (pytest, jupyter) and for -c."""
    path = getattr(sys.modules.get("__main__"), "__file__", None)
    if not isinstance(path, str):
        return None
    folder = path.rpartition("/")[0] or ("/" if path.startswith("/") else ".")  # the core takes it from here
    if folder.startswith((sys.prefix + os.sep, sys.base_prefix + os.sep + "lib")):
        return None
    try:
        return _arguments.utf8("a path", folder)
    except ValueError:
        return None


def _cell_number() -> int | None:
    """The number of the execution of the cell that runs now, In[7]; None outside of a kernel of a notebook."""
    ipython: Any = sys.modules.get("IPython")
    try:
        shell = ipython.get_ipython()
        if shell is None or not hasattr(shell, "kernel"):
            return None
        return int(shell.execution_count)
    except Exception:  # a half-imported or replaced module decides nothing
        return None


def _begin_cell() -> int | None:
    """_cell_number(). It finishes the live runs that other cells have opened, and prints one line: else each time that
    a cell runs again one more run would last until the end of the kernel (docs/notebooks.md)."""
    now = _cell_number()
    if now is None:
        return None
    for run in _open_runs.live_runs():
        if run._pid != os.getpid() or run._cell is None or run._cell == now:
            continue
        run._finish("finished", 0, CELL_REASON)
        print(f"tracker: {run.project}/{run.id} finished: {CELL_REASON} (docs/notebooks.md)", file=sys.stderr)
    return now


def init(
    project: str | None = None,
    name: str | None = None,
    config: Any = None,
    tags: Iterable[str] | None = None,
    group: str | None = None,
    job_type: str | None = None,
    notes: str | None = None,
    id: str | None = None,
    resume: Literal["never", "allow", "must"] | None = None,
    mode: Literal["local", "online", "offline", "disabled"] | None = None,
    dir: str | os.PathLike[str] | None = None,
    ranks: Literal["first", "observe", "all"] | None = None,
    strict: bool = False,
    *,
    journal: Literal["shm", "disk", "memory"] | None = None,
    on_full: Literal["wait", "drop", "block"] | None = None,
    quiet: bool = False,
    rank: int | None = None,
    world_size: int | None = None,
    on_sigterm: Literal["mark"] | None = None,
    on_exit: Literal["finish", "leave"] | None = None,
    resume_from: str | None = None,
    duplicate_policy: Literal["last", "first"] | None = None,
    max_disk: int | str | None = None,
    console: Literal["python", "off", "fd"] | None = None,
    capture: Literal["none"] | Iterable[str] | None = None,
    system_interval: float | None = None,
    tensorboard: str | os.PathLike[str] | None = None,
    host: str | None = None,
    token: str | None = None,
    **unknown: Never,
) -> Run:
    """Opens a run, which becomes the current one of its thread, asyncio task or other context (tracker.run, .log).

    An argument beats its variable of the environment, which is named in brackets and beats the default.

    project: default "default" (TRACKER_PROJECT).
    name: the display name; default: the id.
    config: a mapping, or an object with fields; default: empty.
    tags, group, job_type, notes: labels of the run; default: none.
    id: a label, unique in its project; default: made up, such as "brisk-otter-417" (TRACKER_RUN_ID).
    resume: "never", "allow": the run with this id goes on where it exists, or "must"; default "never".
    mode: "local", "online", "offline" or "disabled"; default "local" (TRACKER_MODE). "online": what is stored is also
        sent in the background, to the server of `host`.
    dir: the store; default: the nearest .tracker folder upward, else ./.tracker (TRACKER_DIR).
    ranks: "first": of a distributed job rank 0 records; "observe": the others leave a sign of life in the run, and
        their system series and console; "all": every rank records into the run; default "first" (TRACKER_RANKS).
    strict: True raises what is otherwise counted; default: False.
    journal: "shm", "disk" or "memory": what survives a kill; default: the best that the machine offers.
    on_full: a full journal makes log() "wait" a while, then drop and count, "drop", or "block" as long as the store
        takes nothing; default "wait".
    quiet: no line on stderr at start and end; default: False.
    rank, world_size: of this process in its job; default: what the launcher says (TRACKER_RANK; docs/environment.md).
    on_sigterm: "mark": SIGTERM marks the run as preempted, however its process ends then, and goes on to the handler
        that was there before, or ends the process as it would have. It does so from whichever thread init was called,
        also while native code runs, until the run has ended. A handler that is installed later takes its place and is
        to call run.mark_preempting(). Default: SIGTERM is left alone.
    on_exit: "leave": a process that exits leaves a run that was not finished as if it were killed, at once and
        crashed; all it logged is recovered. "finish": finished, or failed by the exit code; default "finish".
    resume_from: "run@step" goes on with that run: what its earlier attempts logged after the step is shadowed, readable
        with all=True; "run" alone hides nothing. Default: none.
    duplicate_policy: what readers see of a step logged twice, the "last" value or the "first"; default "last".
    max_disk: bytes, or a text such as "10GB", that the store may take; when it takes more, new points are dropped and
        counted, and nothing is ever deleted for it. Default: no bound (TRACKER_MAX_DISK).
    console: "python": what Python prints is recorded; "fd": what native code and child processes print too; "off".
        Default "python", and "off" with capture="none".
    capture: some of "command", "environment", "diff" (`git diff`) and "source" (a copy of the program's folder, as an
        artifact), without the secrets that are found in them. They are recorded beside machine, container, packages and
        git commit, which always are; "none" leaves all out. Default: nothing more (TRACKER_CAPTURE).
    system_interval: seconds between samples of machine, process and GPUs, series "system/..."; 0: none; default: 15
        (TRACKER_SYSTEM_INTERVAL).
    tensorboard: a folder: a live event file goes in <folder>/<project>/<id>/; default: none.
    host, token: the server of mode="online"; default: those of tracker.login() (TRACKER_HOST, TRACKER_TOKEN).

    Several live runs in one process are legal: functions of the module take the newest of their context, else of the
    main thread's, else of the process (docs/guarantees.md).
    A store that cannot be written is no error (unless strict): status() says so and the run recovers with the disk.
    A run that must go on (resume="must", resume_from) and cannot be read is one: StoreError, CorruptError.
    Raises TypeError for an unknown or ill-typed argument, ValueError for a value that is not one of those expected,
    NotFoundError for resume="must" without the run.
    Cost: at most about 10 ms on a local disk; never waits for a network. Where this process records the run already it
    waits for that one's flush, at most 2 s.
    """
    arguments: dict[str, Any] = dict(locals())
    if unknown:
        _arguments.refuse_unknown(unknown, [name for name in arguments if name != "unknown"])
    return _open(_checked(arguments))


def _checked(given: dict[str, Any]) -> dict[str, Any]:
    """The options of the core from the arguments of init(); raises what init() promises."""
    refused: Refused = []
    options: dict[str, Any] = {
        "max_disk": _arguments.byte_size("max_disk", given["max_disk"]),
        "config": plain_config(given["config"], refused),
        "tags": _arguments.tag_list(given["tags"]),
        "dir": _arguments.folder("dir", given["dir"]) or store_before_hydra(),
        "child_of_run": _child_of_run(),
        **_torch_rank(),
    }
    options["process_group"] = "torch_rank" in options and torch_process_group.store() is not None
    for option in _LABELS:
        options[option] = _arguments.label(option, given[option])
    for option in ("group", "job_type", "notes"):
        options[option] = _arguments.text(option, given[option])
    options["capture"] = _arguments.capture(given["capture"])
    options["console"] = _arguments.console(given["console"], options["capture"])
    options["system_interval"] = _arguments.interval(given["system_interval"])
    options["source_folder"] = _source_folder()
    options["tensorboard"] = _arguments.folder("tensorboard", given["tensorboard"])
    options["python"] = _python()
    options["python_path"] = _paths()
    options["gpu_trial"] = _gpu_trial()
    for option in ("strict", "quiet"):
        options[option] = _arguments.flag(option, given[option])
    for option in ("rank", "world_size"):
        options[option] = _arguments.number(option, given[option])
    if options["world_size"] == 0:
        raise ValueError("world_size must be at least 1; leave it out where it is not known")
    if options["strict"]:
        for path, why, error in refused[:1]:
            raise error(f"'{path}': {why}")
        if twice := _core.given_twice(options["config"]):
            raise ValueError(f"config has two values for '{twice}' (a '/' in a key leads into a dict below it)")
    return {**options, "refused": refused}


def _open(options: dict[str, Any]) -> Run:
    console = options.pop("console", "off")
    cell = None
    if "ipykernel" in sys.modules:
        cell = _begin_cell()
    refused = options.pop("refused")
    run = Run(_core.init_run(options))
    run._cell = cell
    if options["process_group"]:
        torch_process_group.meet(run._core)
    for key in ("notes", "group", "job_type"):
        if options.get(key):
            run._labels[key] = options[key]
    run._labels["tags"] = tuple(options.get("tags", ()))
    refuse(run._core, refused)
    if "typing" in sys.modules:  # else it costs some ms here; status() must work when no descriptor is left
        from tracker._recording import status as status
    _open_runs.add(run)
    if console == "python":
        stream_wrappers.add(run._core)
    elif console == "fd":
        from tracker._console import fd_capture

        fd_capture.add(run._core)
    return run
