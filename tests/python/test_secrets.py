# SPDX-License-Identifier: MIT
"""Goal: F31. Secrets that lie in config, environment, arguments, texts and error messages are in no file of the run.
Method: plant them, then search every byte of the store and of the journal, live and ended."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import tracker

Script = Callable[..., "subprocess.CompletedProcess[str]"]

SECRETS = {
    "api_key": "plain-value-of-the-api-key",
    "password": "hunter2-correct-horse",
    "token": "tok-0123456789abcdef",
    "aws": "AKIAIOSFODNN7EXAMPLE",
    "github": "ghp_" + "a1B2" * 9,
    "url": "s3cr3tpass",
    "argv": "argv-secret-0f0f0f",
    "env": "env-secret-1e1e1e",
}


def files_with(folder: Path, needle: str) -> list[str]:
    wanted = needle.encode()
    return [str(path) for path in folder.rglob("*") if path.is_file() and wanted in path.read_bytes()]


def test_planted_secrets_are_in_no_file(script: Script, store: Path, tmp_path: Path) -> None:
    done = script(
        f"""
        import os, pathlib, sys, tracker
        S = {SECRETS!r}
        run = tracker.init(project="p", id="secret", journal="disk" if "disk" in sys.argv else None, config={{
            "api_key": S["api_key"], "db": {{"password": S["password"], "url": f"postgres://me:{{S['url']}}@host/db"}},
            "hf_token": S["token"], "notes": "uses " + S["aws"] + " and " + S["github"], "lr": 0.1}})
        run.config["openai_api_key"] = S["api_key"]
        run.summary["token"] = S["token"]
        run.log({{"note": "key " + S["github"], "loss": 1.0}}, step=0)
        run.flush()
        print(run.status().values_redacted, flush=True)
        me = pathlib.Path("/dev/shm") / f"tracker-{{os.getuid()}}"
        found = [str(p) for p in me.rglob("*") if p.is_file() for s in S.values() if s.encode() in p.read_bytes()]
        assert not found, found
        raise ValueError("cannot use " + S["aws"])
        """,
        SECRETS["argv"],
        env={"MY_SECRET": SECRETS["env"]},
    )
    assert done.returncode == 1
    assert int(done.stdout) >= 7, done.stderr
    for name, secret in SECRETS.items():
        assert files_with(store, secret) == [], name
    r = tracker.open_run("p/secret")
    assert r.state == "failed"
    assert r.config["api_key"] == "[redacted]"
    assert r.config["lr"] == 0.1
    assert r.config["db"]["url"] == "postgres://[redacted]@host/db"
    assert r.texts("note")[0].text == "key [redacted]"
