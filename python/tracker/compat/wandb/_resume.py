# SPDX-License-Identifier: MIT
"""Which run init() goes on with: resume=, id=, and the file that resume="auto" reads."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Run = Any  # wandb's, of _run.py, which is above this module

FILE = "wandb-resume.json"  # in <dir>/wandb: the run that this program began last and has not finished well


def options(chosen: dict[str, Any]) -> dict[str, Any]:
    """The arguments of tracker.init() that say which run it is."""
    resume, run_id = chosen["resume"], chosen["id"]
    if isinstance(resume, str) and resume.lower() in ("true", "1", "auto"):
        resume = True
    if isinstance(resume, str) and resume not in ("allow", "must", "never", "false", "False", "0", ""):
        # Old scripts give the id itself: resume="a1b2c3d4".
        resume, run_id = "allow", run_id or resume
    if chosen["resume_from"]:
        name, _, step = str(chosen["resume_from"]).partition("?_step=")
        return {"resume_from": f"{name}@{int(step)}" if step else name}
    if resume is True:
        run_id = run_id or _remembered(chosen)
        return {"id": run_id, "resume": "allow"} if run_id else {}
    if resume in ("allow", "must"):
        return {"id": run_id, "resume": resume}
    if resume == "never" or run_id is None:
        return {"id": run_id}
    # Without resume= a run that has the id and does not run goes on with a new attempt, from step 0; its earlier rows
    # are hidden and none is deleted.
    return {"resume_from": f"{run_id}@-1"} if _has_ended(run_id, chosen) else {"id": run_id}


def _has_ended(run_id: str, chosen: dict[str, Any]) -> bool:
    import tracker

    project = chosen["project"] or _default_project()
    try:
        run = tracker.open_run(f"{project}/{run_id}", dir=chosen["store"])
    except Exception:  # no store, no run, or one that cannot be read: init() says what is to be said
        return False
    return run.id == run_id and run.state != "running"


def _default_project() -> str:
    return os.environ.get("TRACKER_PROJECT") or "default"


def _path(root: object) -> str:
    return os.path.join(str(root or "."), "wandb", FILE)  # noqa: PTH118 (pathlib costs a third of the import)


def _remembered(chosen: dict[str, Any]) -> str | None:
    return _read(_path(chosen["dir"]))


def _read(path: str) -> str | None:
    import json

    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)["run_id"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if isinstance(found, str) else None


def remember(run: Run, root: object) -> None:
    """For resume="auto" of the next start of the program."""
    import json

    path = _path(root)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"run_id": run.id}, file)
    except OSError:
        pass


def forget(run: Run) -> None:
    """The run has ended well."""
    path = _path(run._settings.root_dir)
    if _read(path) == run.id:
        try:
            os.unlink(path)  # noqa: PTH108
        except OSError:
            pass
