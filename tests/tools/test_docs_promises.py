# SPDX-License-Identifier: MIT
"""Goal: the page of promises names tests that exist, and each of the twelve promises has some.

Method: the comments above the tests are collected; made-up tests.
"""

from __future__ import annotations

import docs_promises
import pytest
import tidy


def test_each_promise_has_tests() -> None:
    promises = docs_promises.collect(tidy.load().files)
    assert {promise.number for promise in promises} == {*range(1, 13)}
    assert len(promises) > 150
    assert all(promise.sentence.endswith(".") for promise in promises)


@pytest.mark.parametrize(
    ("source", "test"),
    [
        ("// Promise P5: Lost points\n// are counted.\n// Regression: none were.\nTEST_F(ATest, B) {\n", "ATest.B"),
        ("# Promise P5: Lost points are counted.\n@mark(\n    1,\n)\ndef test_b(x: int) -> None:\n", "test_b"),
    ],
)
def test_a_sentence_goes_with_the_test_after_it(source: str, test: str) -> None:
    (promise,) = docs_promises.promises_of("tests/a", source)
    assert (promise.number, promise.sentence, promise.test) == (5, "Lost points are counted.", test)


def test_a_test_may_have_several() -> None:
    source = "// Promise P1: One.\n// Promise P2: Two.\nTEST(A, B) {\n"
    assert [(each.number, each.test) for each in docs_promises.promises_of("a.cc", source)] == [(1, "A.B"), (2, "A.B")]


@pytest.mark.parametrize("source", ["// Promise P13: One.\nTEST(A, B) {\n", "// Promise P1: One.\nint a;\n"])
def test_a_promise_without_a_test_or_with_another_number_is_an_error(source: str) -> None:
    with pytest.raises(ValueError, match="above its test"):
        list(docs_promises.promises_of("a.cc", source))
