# SPDX-License-Identifier: MIT
"""make docs: writes the documents that are made of the code and its tests into build/docs/.

figures.md, the tables of `make bench`, is written by benchmarks/figures.py.

.venv/bin/python tools/docs.py
"""

from __future__ import annotations

import docs_headers
import docs_limits
import docs_promises
import docs_python
import tidy

PAGES = {
    "limits.md": docs_limits.page,
    "promises.md": docs_promises.page,
    "python.md": docs_python.page,
    "c.md": docs_headers.c_page,
    "cpp.md": docs_headers.cpp_page,
}
OUT = tidy.ROOT / "build" / "docs"


def main() -> None:
    files = tidy.load().files
    OUT.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        (OUT / name).write_text(page(files))
        print(OUT.relative_to(tidy.ROOT) / name)


if __name__ == "__main__":
    main()
