# SPDX-License-Identifier: MIT
"""Uploads: a live run, tracker sync and run.upload() against a server process, and through a proxy that fails.

The server is tests/support/stand_in_server.py, which keeps what it acknowledged. The oracle is always the same: when
things are well again the server's rows equal the local ones, each once.
"""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import tracker
from commands import command
from stand_in_server import TOKEN, Received
from unreliable_proxy import FAULTS, Proxy, wait_until

Script = Callable[..., "subprocess.CompletedProcess[str]"]
PROGRAM = Path(__file__).parent.parent / "support" / "stand_in_server.py"


class Server:
    """A server process that can be killed and started again at the same port."""

    def __init__(self, folder: Path, limits: dict[str, int] | None = None) -> None:
        folder.mkdir()
        self.folder, self.limits, self.port = folder, limits or {}, 0
        self.start()

    def start(self) -> None:
        words = [sys.executable, str(PROGRAM), str(self.folder), str(self.port), json.dumps(self.limits)]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def holds(self) -> Received:
        return Received(self.folder, self.limits)


@contextmanager
def running(folder: Path, limits: dict[str, int] | None = None) -> Iterator[Server]:
    server = Server(folder, limits)
    try:
        yield server
    finally:
        server.kill()


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server that TRACKER_HOST names."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    with running(tmp_path / "server") as one:
        monkeypatch.setenv("TRACKER_HOST", one.url)
        monkeypatch.setenv("TRACKER_TOKEN", TOKEN)
        yield one


@pytest.fixture
def proxy(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """In front of the server; TRACKER_HOST names it instead."""
    one = Proxy(server.port, seed=7)
    monkeypatch.setenv("TRACKER_HOST", f"http://127.0.0.1:{one.port}")
    yield one
    one.close()


def synced(*runs: str) -> dict[str, Any]:
    done = command("sync", *runs, "--json")
    assert done.returncode == 0, done.stderr
    out: dict[str, Any] = json.loads(done.stdout)
    return out


def local_rows(uid: str, metric: str = "loss") -> list[tuple[int, float]]:
    h = tracker.open_run(uid).history(metric, all=True)
    return list(zip(h.steps.tolist(), h.values.tolist(), strict=True))


def check_equal(server: Server, uid: str, metric: str = "loss") -> None:
    rows = local_rows(uid, metric)
    assert rows
    assert server.holds().rows(uid, metric) == rows


def test_a_live_run_is_sent_while_it_runs_and_whole_when_it_has_ended(server: Server) -> None:
    run = tracker.init(project="p", mode="online", quiet=True, config={"lr": 0.1})
    assert run.url == f"{server.url}/runs/{run.uid}"
    run.log({"loss": 0.0}, step=0)
    assert wait_until(lambda: server.holds().rows(run.uid, "loss") == [(0, 0.0)])
    for step in range(1, 5000):
        run.log({"loss": step / 2, "acc": step}, step=step)
    run.finish()
    check_equal(server, run.uid)
    check_equal(server, run.uid, "acc")
    assert server.holds().run(run.uid).config() == {"lr": 0.1}
    again = synced()
    assert [each["id"] for each in again["runs"]] == [run.id]
    assert (again["points_sent"], again["files_sent"], again["bytes_sent"]) == (0, 0, 0)


def test_a_sign_of_life_is_no_unit(server: Server) -> None:
    run = tracker.init(project="p", mode="online", quiet=True)
    run.log({"loss": 1.0}, step=0)
    assert wait_until(lambda: bool(server.holds().heads))
    run.finish()
    (head,) = server.holds().heads.values()
    assert abs(head["heartbeat_us"] / 1e6 - time.time()) < 60
    assert TOKEN not in json.dumps(head)


# The bug would be a run that is sent though nobody asked for it, or an offline one that a bare sync leaves.
def test_a_bare_sync_takes_offline_runs_and_a_named_one_any(server: Server) -> None:
    uids = {}
    for mode in ("local", "offline"):
        run = tracker.init(project="p", id=mode, mode=mode, quiet=True)
        run.log({"loss": 1.0}, step=0)
        run.finish()
        uids[mode] = run.uid
    first = synced()
    assert [(each["id"], each["points_sent"]) for each in first["runs"]] == [("offline", 1)]
    assert server.holds().rows(uids["local"], "loss") == []
    assert synced("p/local")["points_sent"] == 1
    for mode in uids:
        check_equal(server, uids[mode])
    text = command("sync", "local", "offline")
    assert "p/local: nothing to send\np/offline: nothing to send\n" in text.stdout


def test_a_killed_run_is_recovered_and_sent(server: Server, script: Script) -> None:
    done = script(
        """
        import os, signal, tracker
        run = tracker.init(project="p", mode="offline", quiet=True)
        for step in range(1000):
            run.log({"loss": step}, step=step)
        print(run.uid, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    uid = done.stdout.strip()
    assert synced()["points_sent"] == 1000
    check_equal(server, uid)
    assert synced()["bytes_sent"] == 0


def test_a_live_run_of_another_process_is_sent_as_far_as_it_is_durable(server: Server) -> None:
    source = """
import sys, tracker
run = tracker.init(project="p", mode="offline", quiet=True)
run.log({"loss": 1.0}, step=0)
run.flush()
print(run.uid, flush=True)
sys.stdin.readline()
run.log({"loss": 2.0}, step=1)
run.finish()
"""
    child = subprocess.Popen([sys.executable, "-c", source], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    uid = child.stdout.readline().strip()
    first = synced()
    assert first["runs"][0]["writers_unfinished"] == 1
    assert server.holds().rows(uid, "loss") == [(0, 1.0)]
    child.communicate("\n", timeout=30)
    assert synced()["points_sent"] == 1
    check_equal(server, uid)


LOOP = """
import sys, time, tracker
run = tracker.init(project="p", mode="online")
print(run.uid, flush=True)
for step in range(int(sys.argv[1])):
    run.log({"loss": step / 4}, step=step)
    time.sleep(float(sys.argv[2]))
begun = time.monotonic()
run.finish()
print(time.monotonic() - begun)
"""


@pytest.mark.parametrize("fault", FAULTS)
def test_one_kind_of_fault_costs_nothing_once_it_is_over(
    server: Server, proxy: Proxy, script: Script, fault: str
) -> None:
    proxy.fault = fault
    done = script(LOOP, "200", "0.01")
    assert done.returncode == 0, done.stderr
    uid, took = done.stdout.split()
    assert float(took) < 13
    assert proxy.seen
    proxy.fault = ""
    synced()
    check_equal(server, uid)


def test_faults_at_random_and_a_server_that_is_killed_and_started_again(
    server: Server, proxy: Proxy, script: Script
) -> None:
    proxy.fault = "random"
    child = subprocess.Popen(
        [sys.executable, "-c", LOOP, "600", "0.01"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    for _ in range(4):
        time.sleep(1)
        server.kill()
        time.sleep(0.2)
        server.start()
    out, err = child.communicate(timeout=60)
    assert child.returncode == 0, err
    uid, took = out.split()
    assert float(took) < 13
    proxy.fault = ""
    synced()
    check_equal(server, uid)
    assert synced()["bytes_sent"] == 0


def test_without_a_server_the_run_ends_soon_with_one_line_and_is_sent_later(
    server: Server, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.kill()
    done = script(LOOP, "50", "0.05")
    uid, took = done.stdout.split()
    assert done.returncode == 0
    assert float(took) < 3
    lines = [line for line in done.stderr.splitlines() if server.url in line]
    assert len(lines) == 2, done.stderr  # that it cannot be reached, and at the end that not all of it is there
    assert "recorded locally" in lines[0]
    assert "tracker sync" in lines[1]
    refused = command("sync")
    assert refused.returncode == 1
    assert "everything is stored locally" in refused.stderr
    server.start()
    assert synced()["points_sent"] == 50
    check_equal(server, uid)


def test_a_server_that_comes_back_is_told_of_once(server: Server, script: Script) -> None:
    server.kill()
    child = subprocess.Popen(
        [sys.executable, "-c", LOOP, "600", "0.01"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    time.sleep(2)
    server.start()
    out, err = child.communicate(timeout=60)
    assert err.count("recorded locally, and sent when that is over") == 1, err
    assert err.count("takes the run again") == 1, err
    check_equal(server, out.split()[0])


def test_a_process_that_exits_without_finish_does_not_wait_for_the_network(
    server: Server, proxy: Proxy, script: Script
) -> None:
    proxy.fault = "hang"
    begun = time.monotonic()
    done = script(
        """
        import time, tracker
        run = tracker.init(project="p", mode="online", quiet=True)
        run.log({"loss": 1.0}, step=0)
        run.flush()
        time.sleep(0.5)
        print(run.uid, time.monotonic())
        """
    )
    ended = time.monotonic()
    uid, at = done.stdout.split()
    assert done.returncode == 0
    assert ended - float(at) < 4, begun
    proxy.fault = ""
    synced()
    check_equal(server, uid)


MAPS = """
import os, socket, sys, time, tracker
run = tracker.init(project="p", mode=sys.argv[1], quiet=True)
for step in range(100):
    run.log({"loss": step}, step=step)
run.flush()
time.sleep(1)
maps = open("/proc/self/maps").read()
print("libcurl" in maps, "libssl" in maps or "libcrypto" in maps, flush=True)
pid = os.fork()
if pid == 0:
    sockets = 0
    for fd in range(1024):
        try:
            sockets += socket.socket(fileno=os.dup(fd)).family in (socket.AF_INET, socket.AF_INET6)
        except OSError:
            pass
    print(sockets, len(os.listdir("/proc/self/task")), flush=True)
    os._exit(0)
os.waitpid(pid, 0)
run.finish()
"""


def test_local_mode_maps_neither_libcurl_nor_openssl(server: Server, script: Script) -> None:
    done = script(MAPS, "local")
    assert done.stdout.splitlines()[0] == "False False", done.stderr
    assert script(MAPS, "offline").stdout.splitlines()[0] == "False False"


def test_a_forked_child_has_neither_the_thread_nor_the_socket(server: Server, script: Script) -> None:
    done = script(MAPS, "online")
    assert done.stdout.splitlines() == ["True True", "0 1"], done.stderr


def test_a_wrong_token_is_told_once_and_the_run_stays_local(
    server: Server, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACKER_TOKEN", "trk_wrong")
    done = script(LOOP, "300", "0.01")
    uid, took = done.stdout.split()
    assert done.returncode == 0
    assert float(took) < 3
    assert done.stderr.count("(no_access)") == 1, done.stderr
    refused = command("sync")
    assert refused.returncode == 1
    assert "TRACKER_TOKEN" in refused.stderr
    monkeypatch.setenv("TRACKER_TOKEN", TOKEN)
    synced()
    check_equal(server, uid)


def test_a_token_file_is_read_again_when_the_server_refuses_the_token(
    server: Server, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("TRACKER_TOKEN")
    login = Path(os.environ["XDG_CONFIG_HOME"]) / "tracker" / "login.json"
    login.parent.mkdir(parents=True)
    login.write_text(json.dumps({"host": server.url, "token": "trk_old"}))
    run = tracker.init(project="p", mode="online", quiet=True)
    login.write_text(json.dumps({"host": server.url, "token": TOKEN}))
    run.log({"loss": 1.0}, step=0)
    run.finish()
    check_equal(server, run.uid)


def test_login_writes_one_private_file_that_the_next_run_uses(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRACKER_TOKEN")
    monkeypatch.delenv("TRACKER_HOST")
    with pytest.raises(ValueError, match="nothing was saved"):
        tracker.login(server.url, "trk_wrong")
    assert tracker.login(server.url, TOKEN) is True
    (file,) = [path for path in Path(os.environ["XDG_CONFIG_HOME"]).rglob("*") if path.is_file()]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    run = tracker.init(project="p", mode="online", quiet=True)
    run.log({"loss": 1.0}, step=0)
    run.finish()
    check_equal(server, run.uid)
    # A token is sent to no server but its own.
    monkeypatch.setenv("TRACKER_HOST", server.url.replace("127.0.0.1", "localhost"))
    assert "no_access" in command("sync", run.uid).stderr
    monkeypatch.delenv("TRACKER_HOST")
    server.kill()
    assert tracker.login(server.url, TOKEN) is False
    server.start()


@pytest.mark.parametrize("host", ["ftp://host", "http://user:sesame@host", "http://", "http://host/?a=1", "a b"])
def test_a_host_that_is_none_is_refused_and_not_repeated(server: Server, host: str) -> None:
    with pytest.raises(ValueError, match="expected a name or an address") as failure:
        tracker.init(project="p", mode="online", host=host, token="x")
    assert "sesame" not in str(failure.value)


def test_online_without_a_known_server_is_local_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: Script
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    done = script(LOOP, "3", "0")
    assert done.stderr.count("no server is known; the run is recorded locally") == 1
    left = command("sync")
    assert left.returncode == 1
    assert "no server is known" in left.stderr


def test_a_server_with_small_limits_gets_halves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKER_TOKEN", TOKEN)
    run = tracker.init(project="p", mode="offline", quiet=True)
    for step in range(20):
        run.log({"loss": float(step)}, step=step)
        run.flush()
    run.finish()
    with running(tmp_path / "server", {"batch_bytes": 2500, "batch_units": 3}) as server:
        monkeypatch.setenv("TRACKER_HOST", server.url)
        command("sync")
        assert [step for step, _ in server.holds().rows(run.uid, "loss")] == list(range(20))


def test_an_answer_of_another_server_is_shown_and_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: Script
) -> None:
    (tmp_path / "page").mkdir()
    words = [
        sys.executable,
        "-u",
        "-m",
        "http.server",
        "0",
        "--bind",
        "127.0.0.1",
        "--directory",
        str(tmp_path / "page"),
    ]
    web = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert web.stdout is not None
    port = web.stdout.readline().split("port ")[1].split()[0]
    monkeypatch.setenv("TRACKER_HOST", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("TRACKER_TOKEN", TOKEN)
    done = script(LOOP, "100", "0.01")
    web.terminate()
    web.communicate()
    assert done.returncode == 0
    assert float(done.stdout.split()[1]) < 3
    assert done.stderr.count("this is not an answer of a tracker server") == 1, done.stderr


def test_media_and_artifacts_arrive_by_digest_manifest_last(server: Server, data: Path) -> None:
    large = data / "large.bin"
    large.write_bytes(os.urandom(20 << 20))
    run = tracker.init(project="p", mode="online", quiet=True)
    run.log({"page": tracker.Html("<p>" * 100_000)}, step=0)
    artifact = run.log_artifact(data, name="things", type="dataset", aliases=["best"])
    artifact.wait()
    run.finish(timeout=30)
    synced()
    held = server.holds()
    (version,) = held.versions
    assert (version["name"], version["type"], version["aliases"], version["run"]) == (
        *("things", "dataset", ["best"]),
        run.uid,
    )
    stored = {path.name for path in server.folder.iterdir() if len(path.name) == 64}
    (medium,) = (Path(run.dir) / "media").rglob("*.html")
    assert medium.stem in stored
    assert version["manifest"] in stored
    assert len(stored) == 1 + 1 + 3
    assert synced()["bytes_sent"] == 0


def test_upload_after_finish_goes_to_the_folder_that_is_asked_for(server: Server) -> None:
    run = tracker.init(project="p", quiet=True)
    run.log({"loss": 1.0}, step=0)
    run.finish()
    with pytest.raises(tracker.NotFoundError, match="make_folder"):
        run.upload(folder="other")
    assert server.holds().projects == set()
    assert run.upload(folder="other", make_folder=True) is True
    assert server.holds().projects == {"other"}
    check_equal(server, run.uid)
    assert run.upload(folder="other") is True


def test_upload_without_a_server_is_one_line_and_false(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    run = tracker.init(project="p", quiet=True)
    run.log({"loss": 1.0}, step=0)
    run.finish()
    assert run.upload() is False
    (line,) = capfd.readouterr().err.splitlines()
    assert "no server is known" in line
    assert "tracker sync" in line


def test_a_client_that_is_killed_at_any_moment_leaves_what_sync_completes(server: Server) -> None:
    for wait in (0.3, 0.9, 1.4, 2.1):
        child = subprocess.Popen([sys.executable, "-c", LOOP, "100000", "0.001"], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        uid = child.stdout.readline().strip()
        time.sleep(wait)
        child.send_signal(signal.SIGKILL)
        child.communicate()
        synced()
        check_equal(server, uid)


def test_each_rank_ships_its_own_writer(server: Server, script: Script) -> None:
    children = []
    for rank in range(2):
        env = {**os.environ, "RANK": str(rank), "WORLD_SIZE": "2", "TRACKER_RUN_ID": "shared", "TRACKER_RANKS": "all"}
        children.append(
            subprocess.Popen([sys.executable, "-c", LOOP, "100", "0.01"], env=env, stdout=subprocess.PIPE, text=True)
        )
    uids = {child.communicate(timeout=60)[0].split()[0] for child in children}
    (uid,) = uids
    held = server.holds()
    assert len(held.acked[uid]) == 2
    for writer in held.run(uid).writers:
        assert [row.step for row in writer.rows("loss")] == list(range(100))
    assert synced()["bytes_sent"] == 0
