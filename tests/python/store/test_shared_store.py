# SPDX-License-Identifier: MIT
"""Goal: two users of one folder record, list and clean up in one store; a user without rights gets the right command.

Method: two real users of one group, with umask 077 or 022, run programs and commands of a package that both may read.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import conditions
import pytest
import tracker

ANNA, BEN, GROUP = 2001, 2002, 4321
RECORD = """
import os, sys, tracker
run = tracker.init(project="p", id=sys.argv[1], quiet=True)
run.log({"loss": 1.0})
run.log({"picture": tracker.Html("<p>hello</p>")})
run.config["lr"] = 0.1
(path := __import__("pathlib").Path("model.bin")).write_bytes(sys.argv[1].encode() * 100)
run.log_artifact(str(path), name="model", type="model").wait(60)
run.finish()
"""


class Team:
    """A folder of the group, and its users."""

    def __init__(self, base: Path, package: Path) -> None:
        self.base, self.package, self.files = base, package, "auto"
        self.store = base / "team" / "store"
        (base / "team").mkdir()
        for user in (ANNA, BEN):
            (base / str(user)).mkdir()
            os.chown(base / str(user), user, user)

    def share_folder(self, mode: int = 0o2775) -> None:
        os.chown(self.base / "team", 0, GROUP)
        (self.base / "team").chmod(mode)

    def run(self, user: int, *arguments: str, umask: str = "077") -> subprocess.CompletedProcess[str]:
        python = conditions.python_for_all()
        assert python is not None
        become = ("setpriv", f"--reuid={user}", f"--regid={user}", f"--groups={GROUP}")
        home = self.base / str(user)
        return subprocess.run(
            [*become, "sh", "-c", f'umask {umask}; exec "$@"', "sh", python, *arguments],
            cwd=home,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(home),
                "TRACKER_DIR": str(self.store),
                "TRACKER_CAPTURE": "none",
                "TRACKER_STORE_FILES": self.files,
                "PYTHONPATH": str(self.package),
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            capture_output=True,
            text=True,
            check=False,
        )

    def record(self, user: int, name: str, umask: str = "077") -> subprocess.CompletedProcess[str]:
        return self.run(user, "-c", RECORD, name, umask=umask)

    def command(self, user: int, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.run(user, "-m", "tracker", *arguments)


@pytest.fixture(scope="module")
def package() -> Iterator[Path]:
    conditions.needs(conditions.TWO_USERS)
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    source = Path(tracker.__file__).parent
    shutil.copytree(source, folder / "tracker", ignore=shutil.ignore_patterns("__pycache__"))
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def team(package: Path) -> Iterator[Team]:
    base = Path(tempfile.mkdtemp())
    base.chmod(0o755)
    yield Team(base, package)
    shutil.rmtree(base)
    for user in (ANNA, BEN):
        shutil.rmtree(f"/dev/shm/tracker-{user}", ignore_errors=True)


def runs_seen_by(team: Team, user: int) -> set[str]:
    listed = team.command(user, "ls", "--json")
    assert listed.returncode == 0, listed.stderr
    return {run["id"] for run in json.loads(listed.stdout)["runs"]}


def is_shared(team: Team) -> bool:
    """Whether the group may do with each file what its owner may, but for what stays private."""
    private = ("journal", "artifact-", "digests.tmp")
    for path in [team.store, *team.store.rglob("*")]:
        if any(part.startswith(private) for part in path.relative_to(team.store).parts):
            continue
        status = path.stat()
        if status.st_gid != GROUP or (status.st_mode >> 3 & 7) != (status.st_mode >> 6 & 7) or status.st_mode & 0o2:
            return False
        if path.is_dir() and not status.st_mode & 0o2000:
            return False
    return True


@pytest.mark.parametrize(("umask", "files"), [("022", "auto"), ("077", "auto"), ("077", "frames")])
def test_two_users_record_and_list_in_a_setgid_folder_of_their_group(team: Team, umask: str, files: str) -> None:
    team.share_folder()
    team.files = files  # "frames" as on a network file system
    for user, name in ((ANNA, "annas"), (BEN, "bens"), (ANNA, "annas-second")):
        done = team.record(user, name, umask)
        assert (done.returncode, done.stderr) == (0, "")
    for user in (ANNA, BEN):
        assert runs_seen_by(team, user) == {"annas", "bens", "annas-second"}
        verified = team.command(user, "verify", "--deep")
        assert verified.returncode == 0, verified.stdout + verified.stderr
    assert is_shared(team)
    assert team.command(BEN, "artifact", "get", "p/model:v0", "got").returncode == 0
    assert (team.base / str(BEN) / "got" / "model.bin").read_bytes() == b"annas" * 100


def test_a_store_of_init_shared_is_the_groups_in_any_folder_and_another_store_stays_private(team: Team) -> None:
    os.chown(team.base / "team", ANNA, ANNA)
    made = team.command(ANNA, "init", "--shared", "--group", str(GROUP))
    assert made.returncode == 0, made.stderr
    assert "reads and writes it" in made.stdout
    for user, name in ((ANNA, "annas"), (BEN, "bens")):
        assert team.record(user, name).stderr == ""
    assert runs_seen_by(team, BEN) == {"annas", "bens"}
    assert is_shared(team)
    private = team.run(
        ANNA, "-c", "import tracker; tracker.init(project='p', dir='own/.tracker', quiet=True).finish()", umask="022"
    )
    assert private.returncode == 0
    assert (team.base / str(ANNA) / "own" / ".tracker").stat().st_mode & 0o77 == 0


def test_a_private_store_is_shared_by_its_owners_command_which_the_other_users_error_names(team: Team) -> None:
    os.chown(team.base / "team", ANNA, ANNA)
    (team.base / "team").chmod(0o755)
    assert team.record(ANNA, "annas").returncode == 0
    help_text = f"tracker init --shared --group GROUP --dir {team.store}"
    listed = team.command(BEN, "ls")
    assert listed.returncode == 1
    assert help_text in listed.stderr
    code = "import tracker; run = tracker.init(project='p', id='bens'); run.log({'loss': 1.0}); run.finish(2)"
    recorded = team.run(BEN, "-c", code)
    assert help_text in recorded.stderr
    assert "the next run or command stores it" not in recorded.stderr
    doctor = json.loads(team.command(BEN, "doctor", "--json").stdout)
    assert doctor["store"]["writable"] is False
    assert doctor["store"]["shared"] is False
    assert any(help_text in advice["to_do"] for advice in doctor["advice"])
    assert team.command(BEN, "init", "--shared").returncode == 1  # it is not his
    shared = team.command(ANNA, *help_text.replace("GROUP", str(GROUP)).split()[1:])
    assert shared.returncode == 0, shared.stderr
    assert is_shared(team)
    assert team.record(BEN, "bens-second").stderr == ""
    # What Ben logged while he was locked out waited in his journal: a command of his has stored it.
    assert runs_seen_by(team, BEN) == {"annas", "bens", "bens-second"}
    doctor = json.loads(team.command(BEN, "doctor", "--json").stdout)
    assert doctor["store"]["writable"] is True
    assert doctor["store"]["shared"] is True


def test_a_crashed_run_of_another_user_says_that_only_that_users_command_stores_what_waits(team: Team) -> None:
    team.share_folder()
    code = (
        "import os, signal, tracker\n"
        "run = tracker.init(project='p', id='annas', quiet=True)\n"
        "run.log({'loss': 1.0}); run.flush(); run.log({'loss': 2.0})\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    assert team.run(ANNA, "-c", code).returncode == -signal.SIGKILL
    shown = team.command(BEN, "show", "p/annas")
    assert f"the journal of user id {ANNA}, which only that user sees" in shown.stdout
    assert "recovered" not in shown.stderr
    assert "recovered 1 point of p/annas" in team.command(ANNA, "ls").stderr
    assert "2 points stored" in team.command(BEN, "show", "p/annas", "--losses").stdout


def test_a_user_of_the_group_removes_what_another_one_has_recorded(team: Team) -> None:
    team.share_folder()
    for user, name in ((ANNA, "annas"), (BEN, "bens")):
        assert team.record(user, name).returncode == 0
    assert team.command(BEN, "rm", "p/annas", "--yes").returncode == 0
    assert team.command(ANNA, "rm", "p/bens", "--yes").returncode == 0
    assert team.command(ANNA, "gc").returncode == 0
    assert runs_seen_by(team, ANNA) == set()
    assert is_shared(team)


@pytest.mark.parametrize("mode", [0o2777, 0o775, 0o2755])
def test_a_folder_that_all_or_only_its_owner_may_write_shares_nothing(team: Team, mode: int) -> None:
    team.share_folder(mode)
    os.chown(team.base / "team", ANNA, GROUP)
    (team.base / "team").chmod(mode)
    assert team.record(ANNA, "annas", "022").returncode == 0
    assert team.store.stat().st_mode & 0o22 == 0
    assert all(path.stat().st_mode & 0o22 == 0 for path in team.store.rglob("*"))


def test_a_group_that_is_not_there_or_not_the_users_is_refused_and_changes_nothing(team: Team) -> None:
    (team.base / "team").chmod(0o777)
    for group, words in (("no-such-group", "there is no group"), ("4322", "you are not in the group")):
        done = team.command(ANNA, "init", "--shared", "--group", group)
        assert done.returncode != 0
        assert words in done.stderr
    assert not team.store.exists()
    done = team.command(ANNA, "init", "--group", str(GROUP))
    assert done.returncode == 2
