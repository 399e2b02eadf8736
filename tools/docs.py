# SPDX-License-Identifier: MIT
"""make docs: writes the documents that are made of the code and its tests into build/docs/.

.venv/bin/python tools/docs.py
"""

from __future__ import annotations

import docs_limits
import docs_promises
import tidy

PAGES = {"limits.md": docs_limits.page, "promises.md": docs_promises.page}
OUT = tidy.ROOT / "build" / "docs"


def main() -> None:
    files = tidy.load().files
    OUT.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        (OUT / name).write_text(page(files))
        print(OUT.relative_to(tidy.ROOT) / name)


if __name__ == "__main__":
    main()
