# SPDX-License-Identifier: MIT
"""The server is closed by default: no token, no answer, on every path.

Method: a real server process; the table of its routes says what there is to be asked.
"""

from __future__ import annotations

import http.client
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import tracker
from commands import command, environment
from http_server import Answer, Server, create_token, logs_of, post
from tracker import _core

UID, DIGEST = "ab" * 16, "cd" * 32
ROUTES = [
    (method, pattern.format(uid=UID, digest=DIGEST, file=f"{DIGEST}.png"), scope)
    for method, pattern, scope, _ in _core.Service.routes()
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("access") / "store") as server:
        yield server


def code(answer: Answer) -> tuple[int, str]:
    return answer.status, answer.json()["error"]["code"]


@pytest.mark.parametrize("method, path, scope", ROUTES)
def test_without_a_token_each_path_answers_401(server: Server, method: str, path: str, scope: str) -> None:
    if path == "login":
        assert scope == ""
        return
    assert scope != ""
    assert code(server.request(method, path, token="")) == (401, "no_access")
    assert code(server.request(method, path, token="trk_" + "A" * 43)) == (401, "no_access")
    assert code(server.request(method, path, token="", headers={"Cookie": "tracker_00000000=x"})) == (401, "no_access")


@pytest.mark.parametrize("path", ["nothing", "runs/x", "openapi.json", f"runs/{UID}/../../projects", "runs//"])
def test_a_path_that_does_not_exist_is_refused_without_a_token(server: Server, path: str) -> None:
    assert code(server.request("GET", "/api/v1/" + path, token="")) == (401, "no_access")


@pytest.mark.parametrize("method, path, scope", ROUTES)
def test_a_token_does_what_its_scope_says_and_no_more(server: Server, method: str, path: str, scope: str) -> None:
    if path in ("login", "logout", "session", "server"):
        return
    other = "read" if scope == "ingest" else "ingest"
    assert code(server.request(method, path, token=create_token(server.store, other))) == (403, "no_scope")


def test_a_token_is_printed_alone_and_stored_as_a_hash(server: Server) -> None:
    token = create_token(server.store, "read")
    assert re.fullmatch(r"trk_[A-Za-z0-9_-]{43}", token)
    database = server.store / "server.db"
    assert stat.S_IMODE(database.stat().st_mode) == 0o600
    assert token[4:].encode() not in database.read_bytes()


def test_a_token_is_listed_by_name_and_revoked(server: Server) -> None:
    where = ("--dir", str(server.store))
    token = create_token(server.store, "read")
    named = command("server", "token", "create", *where, "--name", "guest", "--scope", "read", "--project", "mnist")
    assert server.request("GET", "runs", token=token).status == 200
    listed = command("server", "token", "list", *where).stdout
    assert re.search(r"guest +read +mnist +20\d\d-", listed)
    assert named.stdout.strip() not in listed
    assert "revoked 1 token" in command("server", "token", "revoke", "guest", *where).stdout
    assert "guest" not in command("server", "token", "list", *where, "--json").stdout
    assert server.request("GET", "runs", token=named.stdout.strip(), project="mnist").status == 401
    assert server.request("GET", "runs", token=token).status == 200
    again = command("server", "token", "revoke", "guest", *where)
    assert (again.returncode, "no token is called" in again.stderr) == (1, True)


def test_a_token_of_one_project_sees_no_other(server: Server, tmp_path: Path) -> None:
    for project in ("mine", "yours"):
        run = tracker.init(project=project, id="run", dir=str(tmp_path / "local"), quiet=True)
        run.log({"loss": 1.0})
        run.finish()
        (log,) = logs_of(run.dir)
        post(server, log, project=project).ok()
    token = create_token(server.store, "read", "ingest", project="mine")
    assert [each["project"] for each in server.request("GET", "projects", token=token).ok()["projects"]] == ["mine"]
    assert [each["project"] for each in server.request("GET", "runs", token=token).ok()["runs"]] == ["mine"]
    assert code(server.request("GET", "runs", token=token, project="yours")) == (403, "no_scope")
    assert code(server.request("GET", f"runs/{log.uid}", token=token)) == (404, "not_found")
    frames = server.request("POST", f"runs/{log.uid}/frames", log.batch(), token=token, project="mine")
    assert code(frames) == (404, "not_found")


# Promise P12: A request that names another host, comes from another site or guesses tokens is refused.
def test_a_request_that_names_another_host_is_refused(server: Server) -> None:
    for host in ("evil.example", f"evil.example:{server.port}", "", "127.0.0.1.evil.example"):
        assert server.request("GET", "projects", headers={"Host": host}).status in (400, 403)
    assert server.request("GET", "projects", headers={"Host": f"localhost:{server.port}"}).status == 200


def test_each_answer_has_the_headers_of_safety_and_none_of_cors(server: Server) -> None:
    for path, token in (("projects", ""), ("projects", None), ("/", ""), ("/assets/x.js", "")):
        answer = server.request("GET", path, token=token, headers={"Origin": "http://evil.example"})
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "access-control-allow-origin" not in answer.headers


def test_a_login_gives_a_cookie_that_reads(server: Server) -> None:
    answer = server.request("POST", "login", {"token": server.token}, token="", headers={"X-Tracker": "1"})
    assert answer.ok() == {"scopes": ["read", "ingest"], "project": None}
    cookie = answer.headers["set-cookie"]
    assert re.match(
        r"tracker_[0-9a-f]{8}=[A-Za-z0-9_-]{43}; Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict", cookie
    )
    held = {"Cookie": cookie.split(";")[0]}
    assert server.request("GET", "session", token="", headers=held).ok()["scopes"] == ["read", "ingest"]
    assert code(server.request("POST", "logout", token="", headers=held)) == (403, "no_scope")
    far = {**held, "X-Tracker": "1", "Origin": "http://evil.example"}
    assert code(server.request("POST", "logout", token="", headers=far)) == (403, "no_scope")
    near = {**held, "X-Tracker": "1", "Origin": f"http://127.0.0.1:{server.port}"}
    server.request("POST", "logout", token="", headers=near).ok()
    assert code(server.request("GET", "session", token="", headers=held)) == (401, "no_access")


# A front door that ends TLS passes plain http on, and the browser's Origin says https.
def test_a_login_through_a_front_door_with_tls_gives_a_cookie_for_tls_alone(server: Server) -> None:
    headers = {"X-Tracker": "1", "Origin": f"https://127.0.0.1:{server.port}"}
    answer = server.request("POST", "login", {"token": server.token}, token="", headers=headers)
    assert answer.ok()["scopes"] == ["read", "ingest"]
    assert answer.headers["set-cookie"].endswith("; Secure")
    far = {**headers, "Origin": "https://evil.example"}
    assert code(server.request("POST", "login", {"token": server.token}, token="", headers=far)) == (403, "no_scope")


def test_wrong_tokens_from_one_address_are_throttled(tmp_path: Path) -> None:
    with Server(tmp_path / "store") as server:
        codes = [
            server.request("POST", "login", {"token": "trk_no"}, token="", headers={"X-Tracker": "1"}).status
            for _ in range(12)
        ]
    assert codes == [401] * 10 + [429] * 2


# Reaches the limit kJsonRequestBytesMax.
def test_a_body_that_is_too_large_is_refused_before_it_is_read(server: Server) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.putrequest("POST", "/api/v1/login")
    connection.putheader("X-Tracker", "1")
    connection.putheader("Content-Length", str(8 * 1024 * 1024 + 1))
    connection.endheaders()
    answer = connection.getresponse()
    assert answer.status == 413
    assert b"too_large" in answer.read()
    connection.close()


def test_an_unknown_parameter_is_an_error(server: Server) -> None:
    assert code(server.request("GET", "runs", projekt="x")) == (400, "invalid")
    assert code(server.request("GET", "/api/v1/runs?project=a&project=b")) == (400, "invalid")


def test_other_addresses_than_loopback_need_a_token(tmp_path: Path) -> None:
    done = command("server", "--dir", str(tmp_path / "new"), "--host", "0.0.0.0", "--port", "0")
    assert done.returncode == 2
    assert "there is no token yet" in done.stderr


def test_the_page_of_the_console_holds_no_data_and_says_how_it_is_built(server: Server) -> None:
    answer = server.request("GET", "/", token="")
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/html")


def test_a_link_of_a_running_server_opens_it_once(server: Server) -> None:
    line = command("ui", "--link", "--dir", str(server.store)).stderr
    assert line.startswith(f"tracker: http://127.0.0.1:{server.port}/#code=")
    login = {"code": line.strip().split("/#code=")[1]}
    answers = [server.request("POST", "login", login, token="", headers={"X-Tracker": "1"}) for _ in range(2)]
    assert answers[0].ok() == {"scopes": ["read"], "project": None}
    assert answers[1].status == 401


def test_ui_without_a_built_console_says_in_one_line_how_to_get_it(tmp_path: Path) -> None:
    installed = Path(tracker.__file__).parent
    server = tmp_path / "tracker" / "server"
    server.mkdir(parents=True)
    for source, folder in ((installed, server.parent), (installed / "server", server)):
        for entry in source.iterdir():
            if entry.name not in ("server", "console", "__pycache__"):
                (folder / entry.name).symlink_to(entry)
    tracker.init(project="mnist", dir=str(tmp_path / "store"), quiet=True).finish()
    words = [sys.executable, "-m", "tracker", "ui", "--no-browser", "--dir", str(tmp_path / "store")]
    done = subprocess.run(words, env=environment(PYTHONPATH=str(tmp_path)), capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert re.fullmatch(r"tracker: .*`make console` builds it.*`-C console=off`.*\n", done.stderr)
