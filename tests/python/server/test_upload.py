# SPDX-License-Identifier: MIT
"""Uploads: a live run, tracker sync and run.upload() against a real server, and through a proxy that fails.

The oracle is always the same: when things are well again the server's rows equal the local ones, each once; meanwhile
the exit code is the program's own, finish() is bounded, and one line says what is safe and what to do.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socketserver
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import conditions
import pytest
import tracker
from commands import command, environment
from http_server import Server, wait_until
from tracker.compat import em, swanlab
from unreliable_proxy import FAULTS, Proxy

Script = Callable[..., "subprocess.CompletedProcess[str]"]
Rows = list[tuple[int, float]]
OUTAGE_FINISH_SECONDS = 5 * 2.0  # where no server answers, finish() is to take 2 s
FINISH_SECONDS = 5 * 12.0  # 2 s for the disk and 10 s for the server


def url_of(server: Server | Proxy) -> str:
    return f"http://127.0.0.1:{server.port}"


@pytest.fixture(scope="module")
def one_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("upload") / "server") as one:
        yield one


@pytest.fixture
def server(one_server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """A server that TRACKER_HOST names. A test may kill it."""
    if one_server.process is None:
        one_server.start()
    monkeypatch.setenv("TRACKER_HOST", url_of(one_server))
    monkeypatch.setenv("TRACKER_TOKEN", one_server.token)
    return one_server


@pytest.fixture
def proxy(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """In front of the server; TRACKER_HOST names it instead."""
    one = Proxy(server.port, seed=7)
    monkeypatch.setenv("TRACKER_HOST", url_of(one))
    yield one
    one.close()


def synced(*runs: str) -> dict[str, Any]:
    done = command("sync", *runs, "--json")
    assert done.returncode == 0, done.stderr
    out: dict[str, Any] = json.loads(done.stdout)
    return out


def stored(uid: str, metric: str = "loss", store: Path | None = None) -> Rows:
    h = tracker.open_run(uid, dir=None if store is None else str(store)).history(metric, all=True)
    return list(zip(h.steps.tolist(), h.values.tolist(), strict=True))


def held(server: Server, uid: str, metric: str = "loss") -> Rows:
    """The rows that the server has stored."""
    try:
        return stored(uid, metric, server.store)
    except tracker.NotFoundError:
        return []


def check_equal(server: Server, uid: str, metric: str = "loss") -> None:
    """What the server has acknowledged is durable; it joins the run a moment later."""
    rows = stored(uid, metric)
    assert rows
    wait_until(lambda: len(held(server, uid, metric)) >= len(rows))
    assert held(server, uid, metric) == rows


def record(project: str, points: int = 1, **options: Any) -> tracker.Run:
    run = tracker.init(project=project, quiet=True, **options)
    for step in range(points):
        run.log({"loss": float(step)}, step=step)
    run.finish()
    return run


def test_a_live_run_is_sent_while_it_runs_and_whole_when_it_has_ended(server: Server) -> None:
    run = tracker.init(project="live", mode="online", quiet=True, config={"lr": 0.1})
    run.log({"loss": 0.0}, step=0)
    wait_until(lambda: held(server, run.uid) == [(0, 0.0)])
    remote = tracker.connect().open_run(run.uid)
    assert (remote.state, remote.config) == ("running", {"lr": 0.1})
    for step in range(1, 5000):
        run.log({"loss": step / 2, "acc": step}, step=step)
    run.finish()
    assert remote.state == "finished"
    check_equal(server, run.uid)
    check_equal(server, run.uid, "acc")
    again = synced()
    assert [each["id"] for each in again["runs"]] == [run.id]
    assert (again["points_sent"], again["files_sent"], again["bytes_sent"]) == (0, 0, 0)


@pytest.mark.parametrize("project, segment", [("mnist", "mnist"), ("a/b ~c?", "a~2Fb%20~7Ec%3F"), ("..", "~2E.")])
def test_the_url_of_a_run_is_its_page_of_the_console(server: Server, project: str, segment: str) -> None:
    run = tracker.init(project=project, mode="online", quiet=True)
    run.finish()
    assert run.url == f"{url_of(server)}/p/{segment}/r/{run.uid}"
    page = server.request("GET", run.url.removeprefix(url_of(server)), token="")
    index = server.request("GET", "/", token="")
    assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert page.body.replace(b'="../../../', b'="./') == index.body


# The bug would be a run that is sent without a request, or an offline one that a bare sync leaves.
def test_a_bare_sync_takes_offline_runs_and_a_named_one_any(server: Server) -> None:
    uids = {mode: record("modes", id=mode, mode=mode).uid for mode in ("local", "offline")}
    first = synced()
    assert [(each["id"], each["points_sent"]) for each in first["runs"]] == [("offline", 1)]
    assert held(server, uids["local"]) == []
    assert synced("modes/local")["points_sent"] == 1
    for uid in uids.values():
        check_equal(server, uid)
    text = command("sync", "local", "offline")
    assert "modes/local: nothing to send\nmodes/offline: nothing to send\n" in text.stdout


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
    check_equal(server, uid)
    child.communicate("\n", timeout=30)
    assert synced()["points_sent"] == 1
    check_equal(server, uid)


LOOP = """
import os, sys, time, tracker
run = tracker.init(project="p", mode="online")
print(run.uid, flush=True)
for step in range(int(sys.argv[1])):
    run.log({"loss": step / 4}, step=step)
    time.sleep(float(sys.argv[2]))
    if os.path.exists("stop"):
        break
begun = time.monotonic()
run.finish()
print(time.monotonic() - begun)
"""


def looping(points: int) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", LOOP, str(points), "0.01"]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


# Promise P3: Whatever fails between client and server, afterwards the server's rows equal the local ones, once;
# `finish()` stays bounded.
@pytest.mark.parametrize("fault", FAULTS)
def test_one_kind_of_fault_costs_nothing_once_it_is_over(
    server: Server, proxy: Proxy, script: Script, fault: str
) -> None:
    proxy.fault = fault
    done = script(LOOP, "100", "0.01")
    assert done.returncode == 0, done.stderr
    uid, took = done.stdout.split()
    assert float(took) < FINISH_SECONDS
    assert proxy.seen
    proxy.fault = ""
    synced()
    check_equal(server, uid)


def test_faults_at_random_and_a_server_that_is_killed_and_started_again(server: Server, proxy: Proxy) -> None:
    proxy.fault = "random"
    child = looping(300)
    for _ in range(3):
        time.sleep(0.7)
        server.end(signal.SIGKILL)
        time.sleep(0.2)
        server.start()
    out, err = child.communicate(timeout=60)
    assert child.returncode == 0, err
    uid, took = out.split()
    assert float(took) < FINISH_SECONDS
    proxy.fault = ""
    synced()
    check_equal(server, uid)
    assert synced()["bytes_sent"] == 0


def test_a_client_that_is_killed_at_any_moment_leaves_what_sync_completes(server: Server) -> None:
    for wait in (0.3, 0.9, 1.4):
        child = looping(100_000)
        assert child.stdout is not None
        uid = child.stdout.readline().strip()
        time.sleep(wait)
        child.send_signal(signal.SIGKILL)
        child.communicate()
        synced()
        check_equal(server, uid)
    assert synced()["bytes_sent"] == 0


def check_outage(done: subprocess.CompletedProcess[str], host: str, problem: str, advice: str) -> str:
    """The run ended soon, with one line on what is wrong and what to do, and one at its end; tracker sync says the
    same. Returns its uid."""
    assert done.returncode == 0, done.stderr
    uid, took = done.stdout.split()
    assert float(took) < OUTAGE_FINISH_SECONDS
    wrong, end = [line for line in done.stderr.splitlines() if host in line]
    assert problem in wrong
    assert wrong.endswith(f"; the run is recorded locally, {advice or 'and sent when that is over'}")
    assert "nothing is lost, tracker sync" in end
    refused = command("sync")
    assert refused.returncode == 1
    (line,) = [line for line in refused.stderr.splitlines() if host in line]
    assert problem in line
    assert line.endswith(f"; everything is stored locally, {advice or 'tracker sync sends the rest when that is over'}")
    return uid


# Promise P4: Without a server or network, or with a wrong token, a run ends soon with one line, and is sent later.
def test_without_a_server_the_run_ends_soon_and_is_sent_later(server: Server, script: Script) -> None:
    server.end(signal.SIGKILL)
    uid = check_outage(script(LOOP, "50", "0.02"), url_of(server), "Failed to connect", "")
    server.start()
    assert synced()["points_sent"] == 50
    check_equal(server, uid)


def test_without_any_network_the_run_ends_soon_and_is_sent_later(server: Server, script: Script) -> None:
    conditions.needs(conditions.NETWORK_NAMESPACE)
    done = script(LOOP, "50", "0.02", prefix=["unshare", "-n"])
    assert done.returncode == 0, done.stderr
    uid, took = done.stdout.split()
    assert float(took) < OUTAGE_FINISH_SECONDS
    assert done.stderr.count("the run is recorded locally") == 1
    synced()
    check_equal(server, uid)


def test_a_wrong_token_is_said_once_and_the_run_stays_local(
    server: Server, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACKER_TOKEN", "trk_wrong")
    advice = f"set TRACKER_TOKEN or run `tracker login {url_of(server)}`, then tracker sync sends the rest"
    uid = check_outage(script(LOOP, "50", "0.02"), url_of(server), "(no_access)", advice)
    assert ": nothing was sent\n" in command("sync").stdout  # bug: "sent 0 points"
    monkeypatch.setenv("TRACKER_TOKEN", server.token)
    synced()
    check_equal(server, uid)


# The proxy answers as a page of another program, and as a server of another version.
@pytest.mark.parametrize(
    "fault, problem, advice",
    [
        ("page", "this is not an answer of a tracker server", "check TRACKER_HOST; tracker sync sends the rest"),
        (
            "version",
            "the server speaks versions [2] of the interface, this tracker speaks 1",
            "update the older of the two, then tracker sync sends the rest",
        ),
    ],
)
def test_an_answer_that_cannot_be_used_loses_nothing(
    server: Server, proxy: Proxy, script: Script, fault: str, problem: str, advice: str
) -> None:
    proxy.fault = fault
    uid = check_outage(script(LOOP, "50", "0.02"), url_of(proxy), problem, advice)
    assert held(server, uid) == []
    proxy.fault = ""
    synced()
    check_equal(server, uid)


# Reaches the limit kSyncBatchBytes.
def test_a_proxy_that_takes_small_bodies_gets_halves(server: Server, proxy: Proxy) -> None:
    run = tracker.init(project="p", mode="offline", quiet=True, capture="none")
    for step in range(40):
        run.log({"loss": float(step)}, step=step)
        run.flush()
    proxy.body_bytes_max = 3000
    assert synced()["points_sent"] == 40
    assert "413" in proxy.seen
    check_equal(server, run.uid)


def test_what_no_proxy_lets_through_stays_in_the_store_and_is_named(
    server: Server, proxy: Proxy, script: Script
) -> None:
    proxy.body_bytes_max = 100
    done = script(LOOP, "50", "0.02")
    assert done.returncode == 0, done.stderr
    uid, took = done.stdout.split()
    assert float(took) < OUTAGE_FINISH_SECONDS
    assert done.stderr.count("(413); they stay in the store") == 1
    refused = command("sync")
    assert refused.returncode == 1
    assert refused.stderr.count("(413); they stay in the store") == 1
    assert held(server, uid) == []
    proxy.body_bytes_max = 1 << 62
    synced()
    check_equal(server, uid)


def test_a_server_that_comes_back_is_reported_once(server: Server, tmp_path: Path) -> None:
    server.end(signal.SIGKILL)
    child = looping(100_000)
    assert child.stdout is not None
    assert child.stderr is not None
    uid = child.stdout.readline().strip()
    said = [child.stderr.readline(), child.stderr.readline()]
    assert "recorded locally, and sent when that is over" in said[1]
    server.start()
    wait_until(lambda: len(held(server, uid)) > 0)
    (tmp_path / "stop").touch()
    err = child.communicate(timeout=60)[1]
    assert "recorded locally, and sent when that is over" not in err
    assert err.count("takes the run again") == 1, err
    check_equal(server, uid)


def test_a_process_that_exits_without_finish_does_not_wait_for_the_network(
    server: Server, proxy: Proxy, script: Script
) -> None:
    proxy.fault = "hang"
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
    assert ended - float(at) < OUTAGE_FINISH_SECONDS
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


# Promise P9: Local mode maps neither libcurl nor OpenSSL; a forked child has no socket of the upload.
def test_local_mode_maps_neither_libcurl_nor_openssl(server: Server, script: Script) -> None:
    done = script(MAPS, "local")
    assert done.stdout.splitlines()[0] == "False False", done.stderr
    assert script(MAPS, "offline").stdout.splitlines()[0] == "False False"


def test_a_forked_child_has_neither_the_thread_nor_the_socket(server: Server, script: Script) -> None:
    done = script(MAPS, "online")
    assert done.stdout.splitlines() == ["True True", "0 1"], done.stderr


def login_file() -> Path:
    return Path(os.environ["XDG_CONFIG_HOME"]) / "tracker" / "login.json"


def test_a_token_file_is_read_again_when_the_server_refuses_the_token(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TRACKER_TOKEN")
    login_file().parent.mkdir(parents=True)
    login_file().write_text(json.dumps({"host": url_of(server), "token": "trk_old"}))
    run = tracker.init(project="p", mode="online", quiet=True)
    login_file().write_text(json.dumps({"host": url_of(server), "token": server.token}))
    run.log({"loss": 1.0}, step=0)
    run.finish()
    check_equal(server, run.uid)
    files = [path for path in Path(run.dir).rglob("*") if path.is_file()]
    assert [path for path in files if server.token.encode() in path.read_bytes()] == []


class OtherProgram(socketserver.StreamRequestHandler):
    """A web server that is none of ours."""

    def handle(self) -> None:
        self.rfile.readline()
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi")


# Promise P12: `login()` writes one file for its user alone; its token goes to its server alone.
def test_login_writes_one_private_file_that_the_next_run_uses(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRACKER_TOKEN")
    monkeypatch.delenv("TRACKER_HOST")
    with pytest.raises(ValueError, match="nothing was saved"):
        tracker.login(url_of(server), "trk_wrong")
    assert tracker.login(url_of(server), server.token) is True
    assert [path for path in login_file().parents[1].rglob("*") if path.is_file()] == [login_file()]
    assert stat.S_IMODE(login_file().stat().st_mode) == 0o600
    run = record("p", mode="online")
    check_equal(server, run.uid)
    login_file().unlink()
    words = [sys.executable, "-m", "tracker", "login", url_of(server)]
    for token, code in (("trk_wrong", 1), (server.token, 0)):
        done = subprocess.run(words, input=token + "\n", env=environment(), capture_output=True, text=True, check=False)
        assert (done.returncode, login_file().exists()) == (code, code == 0), done.stderr
    # A token is sent to no server but its own.
    monkeypatch.setenv("TRACKER_HOST", url_of(server).replace("127.0.0.1", "localhost"))
    assert "no_access" in command("sync", run.uid).stderr
    monkeypatch.delenv("TRACKER_HOST")
    known = login_file().read_text()
    with socketserver.TCPServer(("127.0.0.1", 0), OtherProgram) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        with pytest.raises(ValueError, match="nothing was saved"):
            tracker.login(f"http://127.0.0.1:{other.server_address[1]}", "trk_x")
        other.shutdown()
    assert login_file().read_text() == known
    server.end(signal.SIGKILL)
    assert tracker.login(url_of(server), server.token) is False


@pytest.mark.parametrize("host", ["ftp://host", "http://user:sesame@host", "http://", "http://host/?a=1", "a b"])
def test_a_host_that_is_none_is_refused_and_not_repeated(host: str) -> None:
    with pytest.raises(ValueError, match="expected a name or an address") as failure:
        tracker.init(project="p", mode="online", host=host, token="x")
    assert "sesame" not in str(failure.value)


def test_online_without_a_known_server_is_local_and_says_so(script: Script) -> None:
    done = script(LOOP, "3", "0")
    assert done.stderr.count("no server is known; the run is recorded locally") == 1
    left = command("sync")
    assert left.returncode == 1
    assert "no server is known" in left.stderr


def test_media_and_artifacts_arrive_whole(server: Server, data: Path, tmp_path: Path) -> None:
    (data / "large.bin").write_bytes(os.urandom(20 << 20))
    page = "<p>" * 100_000
    run = tracker.init(project="files", mode="online", quiet=True)
    run.log({"page": tracker.Html(page)}, step=0)
    run.log_artifact(data, name="things", type="dataset", aliases=["best"]).wait()
    run.finish(timeout=30)
    synced()
    there = tracker.artifact("files/things:best", dir=str(server.store))
    assert (there.type, there.version, [run.uid for run in there.logged_by()]) == ("dataset", "v0", [run.uid])
    folder = Path(there.download(str(tmp_path / "copy")))
    for file in data.rglob("*.bin"):
        assert (folder / file.relative_to(data)).read_bytes() == file.read_bytes()
    (medium,) = tracker.open_run(run.uid, dir=str(server.store)).media("page")
    assert medium.path is not None
    assert Path(medium.path).read_text() == page
    assert synced()["bytes_sent"] == 0


def test_upload_after_finish_goes_to_the_folder_that_is_asked_for(server: Server) -> None:
    run = record("here")
    with pytest.raises(tracker.NotFoundError, match="make_folder"):
        run.upload(folder="elsewhere")
    assert held(server, run.uid) == []
    assert run.upload(folder="elsewhere", make_folder=True) is True
    assert tracker.connect().open_run(run.uid).project == "elsewhere"
    check_equal(server, run.uid)
    assert run.upload(folder="elsewhere") is True


# The bug: sync sent the run into its own project, or was refused because the server had it in the other one.
def test_a_folder_that_was_named_once_stays_that_of_the_run(
    server: Server, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    run = record("here", id="moved")
    with monkeypatch.context() as wrong:
        wrong.setenv("TRACKER_TOKEN", "trk_wrong")
        assert run.upload(folder="there", make_folder=True) is False
    synced("here/moved")
    assert tracker.connect().open_run(run.uid).project == "there"
    record("here", id="moved", resume="must")
    synced("here/moved")
    check_equal(server, run.uid)
    (Path(run.dir) / "upload.json").unlink()  # the server alone knows it, as after an upload from another store
    record("here", id="moved", resume="must")
    synced("here/moved")
    check_equal(server, run.uid)
    em.load_run("here/moved").upload("other", make_folder=True)
    assert 'the run is in the project "there"' in capfd.readouterr().err
    assert tracker.connect().open_run(run.uid).project == "there"


def test_a_run_that_a_drop_in_loads_from_disk_is_uploaded(server: Server, tmp_path: Path) -> None:
    uids = [record("loaded", id=str(number)).uid for number in range(2)]
    em.load_run("loaded/0").upload("theirs", make_folder=True)
    swanlab.sync(tracker.open_run("loaded/1").dir)
    assert [tracker.connect().open_run(uid).project for uid in uids] == ["theirs", "loaded"]
    for uid in uids:
        check_equal(server, uid)


# The bug would be a sync whose cost grows with all runs that were ever sent.
def test_a_bare_sync_opens_no_file_of_a_run_that_is_at_rest_and_sent(server: Server, tmp_path: Path) -> None:
    conditions.needs(conditions.STRACE)
    uids = [record("rest", id=f"{mode}-{n}", mode=mode).uid for n in range(5) for mode in ("local", "offline")]
    with_artifact = tracker.init(project="rest", id="model", mode="offline", quiet=True)
    (tmp_path / "model").write_text("m")
    with_artifact.log_artifact(tmp_path / "model", name="model").wait()
    with_artifact.finish()
    trace = tmp_path / "trace"

    def opened() -> set[str]:
        """The runs whose database a bare sync opens."""
        done = command("sync", prefix=["strace", "-f", "-e", "trace=openat,open", "-o", str(trace)])
        assert done.returncode == 0, done.stderr
        return set(re.findall(r"/runs/rest/([^/]+)/[0-9a-f]{32}\.db\"", trace.read_text()))

    assert len(opened()) == 11
    time.sleep(2.1)  # what has changed a moment ago could change again with the same times
    opened()
    assert opened() == set()
    tracker.init(project="rest", id="offline-0", resume="must", mode="offline", quiet=True).finish()
    assert command("artifact", "alias", "rest/model", "best").returncode == 0
    assert opened() == {"offline-0", "model"}
    assert tracker.artifact("rest/model:best", dir=str(server.store)).version == "v0"
    # A server that has lost the points of a run gets them again.
    server.end(signal.SIGKILL)
    for name in ("ingest.db", "ingest.db-wal", "ingest.db-shm", "runs"):
        path = server.store / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    server.start()
    assert synced()["points_sent"] == 5
    check_equal(server, uids[1])


def test_upload_without_a_server_is_one_line_and_false(capfd: pytest.CaptureFixture[str]) -> None:
    assert record("p").upload() is False
    (line,) = capfd.readouterr().err.splitlines()
    assert "no server is known" in line
    assert "tracker sync" in line


def test_each_rank_ships_its_own_writer(server: Server) -> None:
    children = []
    for rank in range(2):
        env = {**os.environ, "RANK": str(rank), "WORLD_SIZE": "2", "TRACKER_RUN_ID": "shared", "TRACKER_RANKS": "all"}
        words = [sys.executable, "-c", LOOP, "100", "0.01"]
        children.append(subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True))
    (uid,) = {child.communicate(timeout=60)[0].split()[0] for child in children}
    wait_until(lambda: len(held(server, uid)) == 200)
    history = tracker.open_run(uid, dir=str(server.store)).history("loss", all=True)
    for rank in range(2):
        assert history.steps[history.ranks == rank].tolist() == list(range(100))
    assert synced()["bytes_sent"] == 0
