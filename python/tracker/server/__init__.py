# SPDX-License-Identifier: MIT
"""The HTTP shell of the server: FastAPI on uvicorn around the compiled service.

It needs the extra tracker-run[server].
"""

from __future__ import annotations


def serve(store: str, host: str, port: int, takes_uploads: bool, opens_browser: bool, allowed_hosts: list[str]) -> None:
    """Serves the store until SIGTERM or Ctrl-C. Call it in the main thread.

    One line on stderr has the address when the server is ready. ModuleNotFoundError: the extra is not installed;
    OSError: the port is taken.
    """
    try:
        from tracker.server.run import run
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("tracker"):
            raise
        raise ModuleNotFoundError(
            f"the server needs the package {error.name} (pip install 'tracker-run[server]')"
        ) from error
    run(store, host, port, takes_uploads, opens_browser, allowed_hosts)
