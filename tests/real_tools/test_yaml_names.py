# SPDX-License-Identifier: MIT
"""Goal: whatever PyYAML, which comes with MLflow, dumps of a name into a meta.yaml is read back as it was.

Method: random names of pieces that YAML writes in ways of its own, with both dumpers; prints its seed.
"""

from __future__ import annotations

import os
import random

import yaml
from tracker.exchange.mlflow_yaml import read_meta

PIECES = (
    *(
        "it's",
        '"',
        "\\",
        "\n",
        "\n\n",
        " ",
        "  ",
        "\t",
        "🙂",
        "é",
        "\x85",
        "\u2028",
        "\u2029",
        "\u200b",
        "\ufeff",
        "\x1b",
    ),
    *("\xa0", ": ", ":", " #", "#", "- ", "-", "? ", "null", "~", "yes", "1", "1.5", "word " * 7, "x" * 90, "{", "]"),
    *("&a", "*b", "!t", "|", ">", "%", "@", "`", "\r\n", "\x7f", "\uffff", "\U0010ffff", "a", "<<", "---", "..."),
)


def test_random_texts_that_pyyaml_dumps_are_read_back() -> None:
    seed = int(os.environ.get("TRACKER_TEST_SEED") or random.randrange(2**32))
    print(f"TRACKER_TEST_SEED={seed}")
    dice, compared = random.Random(seed), 0
    for _ in range(1000):
        said = {key: "".join(dice.choices(PIECES, k=dice.choice([1, 2, 3, 5, 8, 20]))) for key in ("name", "run_name")}
        for dumper in (yaml.SafeDumper, yaml.CSafeDumper):
            document = yaml.dump(
                {"a": 1, **said, "tags": [said]}, default_flow_style=False, allow_unicode=True, Dumper=dumper
            )
            if yaml.safe_load(document)["tags"] == [said]:  # PyYAML loses some line ends
                assert read_meta(document) == {"a": "1", **said}
                compared += 1
    assert compared > 1000
