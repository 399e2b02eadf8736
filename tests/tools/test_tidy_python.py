# SPDX-License-Identifier: MIT
"""The check of the imports of python/tracker (tools/tidy_python.py) finds a planted circle and an import that goes up.

Method: a few lines as a package, as dicts from path to text. That this repository has none is a test of test_tidy.py.
"""

from __future__ import annotations

import pytest
from tidy_python import circle, import_graph, python_imports

PACKAGE = "python/tracker/"


def problems(**modules: str) -> list[str]:
    """Names of modules with `__` for a dot."""
    files = {f"{PACKAGE}{name.replace('__', '/')}.py": text for name, text in modules.items()}
    return list(python_imports(files | {f"{PACKAGE}_core.pyi": ""}))


@pytest.mark.parametrize(
    "back",
    [
        "from tracker._media import image\n",
        "from tracker._media.image import Image\n",
        "import tracker._media.image\n",
        "from . import image\n",
        "from .image import Image\n",
        "def save():\n    from tracker._media.image import Image\n",
        "if TYPE_CHECKING:\n    from tracker._media.image import Image\n",
    ],
)
def test_a_circle_is_found_wherever_the_import_is_written(back: str) -> None:
    found = problems(_media__image="import os\nfrom tracker._media.table import Table\n", _media__table=back)
    assert found == [
        "python/tracker/_media/image.py:2: modules import each other in a circle: "
        "tracker._media.image -> tracker._media.table -> tracker._media.image"
    ]


def test_a_name_of_a_module_is_no_module() -> None:
    files = {PACKAGE + "_media/__init__.py": "from tracker._media import a\n", PACKAGE + "_media/a.py": "", "a.py": "x"}
    graph = import_graph(files | {PACKAGE + "_media/b.py": "from tracker._media.a import b\nimport os\n"})
    assert graph["tracker._media.b"] == [("tracker._media.a", 1)]
    assert circle(graph) == []


def test_rooms_import_only_rooms_below_them() -> None:
    assert problems(_reading__a="import tracker._recording.run\n", _recording__run="") == [
        "python/tracker/_reading/a.py:1: _reading may not import tracker._recording.run (tools/tidy_python.py)"
    ]
    assert problems(_recording__run="from tracker._reading.a import A\nimport tracker._core\n", _reading__a="") == []
    assert problems(_media__a="def f():\n    import tracker\n", __init__=""), "the package is above its rooms"
    assert problems(_open_runs="import tracker._media.a\n", _media__a=""), "a shared module is below all rooms"
    assert problems(_numpy="import tracker._open_runs\n", _open_runs=""), "shared modules have an order too"
    assert problems(_news=""), "a module at the top that is not named as shared"
