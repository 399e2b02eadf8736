# SPDX-License-Identifier: MIT
"""Words that make comments hard to read are counted, and their counts only fall."""

from __future__ import annotations

import pytest
import tidy_words

CODE = "src/base/a.cc"


@pytest.mark.parametrize(
    ("habit", "text"),
    [
        ("behind", "// the row behind this one"),
        ("behind", "bool behind_seq;"),
        ("tell", "// the caller is told"),
        ("stand", "// where it stands"),
        ("put back", "// sets it aside"),
        ("for dead", "// taken for dead"),
        ("look", "// a second look"),
        ("nobody", "// as Nobody's"),
        ("who", "// Who took it writes again."),
    ],
)
def test_each_use_of_a_habit_is_counted(habit: str, text: str) -> None:
    assert tidy_words.counts({CODE: f"{text}\n{text}\n"})[habit] == 2


@pytest.mark.parametrize(
    "text", ["a server behind a proxy", "the reader lags behind", "a stands for b", "# Who reads this?", "understands"]
)
def test_true_uses_are_not_counted(text: str) -> None:
    assert not any(tidy_words.counts({CODE: text}).values())


def test_only_texts_of_ours_are_counted() -> None:
    text = "behind"
    outside = ["tests/compat/a.py", "benchmarks/a.py", "CHANGELOG.md", "python/tracker/server/console/a.html"]
    assert tidy_words.counts(dict.fromkeys(outside, text))["behind"] == 0
    inside = [CODE, "include/tracker/a.hpp", "python/tracker/_a.py", "console/src/a.ts", "docs/a.md", "README.md"]
    assert tidy_words.counts(dict.fromkeys(inside, text))["behind"] == len(inside)


def test_a_count_that_rises_and_one_that_fell_are_problems() -> None:
    def problems(allowed: int) -> list[str]:
        files = {CODE: "anew\nanew\n", tidy_words.ALLOWED: f'# head\n"anew" = {allowed}\n'}
        return list(tidy_words.words_only_fall(files))

    assert problems(2) == []
    assert '2 uses of "anew", at most 1' in problems(1)[0]
    assert "fewer than 3" in problems(3)[0]


def test_the_allowed_counts_are_lowered_and_never_raised() -> None:
    files = {CODE: "anew\nmend\n", tidy_words.ALLOWED: '# head\n"anew" = 0\n"mend" = 9\n'}
    text = tidy_words.lowered(files)
    assert text.startswith("# head\n")
    assert '"anew" = 0\n' in text
    assert '"mend" = 1\n' in text
