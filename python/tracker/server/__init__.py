# SPDX-License-Identifier: MIT
"""The HTTP shell of the server: FastAPI on uvicorn around the compiled service.

It needs the extra tracker-run[server]. It may import the shared modules.
"""

from __future__ import annotations

from pathlib import Path


def serve(store: str, host: str, port: int, takes_uploads: bool, opens_browser: bool, allowed_hosts: list[str]) -> None:
    """Serves the store until SIGTERM or Ctrl-C. Call it in the main thread.

    One line on stderr has the address when the server is ready. ModuleNotFoundError: the extra is not installed, or a
    browser is to show a console that was not built; OSError: the port is taken.
    """
    if not takes_uploads and not (Path(__file__).parent / "console" / "index.html").is_file():
        raise ModuleNotFoundError(
            "the web console was not built: in a source tree `make console` builds it, and so does `pip install .` "
            "without `-C console=off`"
        )
    try:
        from tracker.server.run import run
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("tracker"):
            raise
        raise ModuleNotFoundError(
            f"the server needs the package {error.name} (pip install 'tracker-run[server]')"
        ) from error
    run(store, host, port, takes_uploads, opens_browser, allowed_hosts)
