# SPDX-License-Identifier: MIT
"""Goal: F25. Every kind of value comes back bit for bit, or by the conversion that is documented.
Method: log each through run.log and through a handle, read the run back, compare raw bytes."""

from __future__ import annotations

import decimal
import fractions
import math
import struct
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tracker

FLOATS = {
    "zero": 0.0,
    "minus_zero": -0.0,
    "one_tenth": 0.1,
    "inf": math.inf,
    "minus_inf": -math.inf,
    "nan": math.nan,
    "nan_with_payload": struct.unpack("<d", struct.pack("<Q", 0x7FF8_DEAD_BEEF_0001))[0],
    "negative_nan": struct.unpack("<d", struct.pack("<Q", 0xFFF8_0000_0000_0042))[0],
    "smallest_denormal": 5e-324,
    "largest_denormal": 2.225073858507201e-308,
    "max": 1.7976931348623157e308,
    "min": -1.7976931348623157e308,
}
INTS = {"zero": 0, "minus_one": -1, "max": 2**63 - 1, "min": -(2**63), "beyond_2_53": 2**53 + 1, "small": 7}


def bits(value: np.generic) -> bytes:
    return np.asarray(value).tobytes()


def logged(run: tracker.Run, value: Any, by: str) -> tracker.StoredRun:
    if by == "log":
        run.log({"x": value}, step=3)
    else:
        run.metric("x").log(value, 3)
    return tracker.open_run(run.uid)


both = pytest.mark.parametrize("by", ["log", "handle"])


# Promise P6: NaN with its payload, ±Inf, −0, denormals, float64 and int64 come back bit for bit, through exports too,
# and are drawn as marks.
@both
@pytest.mark.parametrize("name", FLOATS)
def test_a_float_keeps_every_bit(run: tracker.Run, name: str, by: str) -> None:
    h = logged(run, FLOATS[name], by).history("x")
    assert h.values.dtype == np.float64
    assert h.values.tobytes() == struct.pack("<d", FLOATS[name])
    assert h.steps.tolist() == [3]


@both
@pytest.mark.parametrize("name", INTS)
def test_an_int_within_int64_stays_an_int(run: tracker.Run, name: str, by: str) -> None:
    h = logged(run, INTS[name], by).history("x")
    assert h.values.dtype == np.int64
    assert h.values.tolist() == [INTS[name]]


# Promise P6: bool, int, float and str keep their kind; None is no value.
@both
@pytest.mark.parametrize("value", [True, False])
def test_a_bool_stays_a_bool(run: tracker.Run, value: bool, by: str) -> None:
    h = logged(run, value, by).history("x")
    assert h.values.dtype == np.bool_
    assert h.values.tolist() == [value]


# Promise P5: An int beyond int64 becomes float64 and is counted.
@both
def test_an_int_beyond_int64_becomes_a_float_and_is_counted(
    run: tracker.Run, by: str, capfd: pytest.CaptureFixture[str]
) -> None:
    h = logged(run, 2**64, by).history("x")
    assert h.values.dtype == np.float64
    assert h.values.tolist() == [2.0**64]
    logged(run, -(2**70), by)
    assert run.status().values_rounded == 2
    assert run.status().values_rejected == 0
    assert capfd.readouterr().err.count("beyond int64") == 1


NUMPY_TYPES = [np.float64, np.float32, np.float16, np.int8, np.int16, np.int32, np.int64]
NUMPY_TYPES += [np.uint8, np.uint16, np.uint32, np.bool_]
WRAPPERS: dict[str, Callable[[Any], Any]] = {
    "scalar": lambda v: v,
    "0-d": np.asarray,
    "one element": lambda v: np.asarray([v]),
    "2-d": lambda v: np.asarray([[v]]),
    "big endian": lambda v: np.asarray(v).astype(np.asarray(v).dtype.newbyteorder(">")),
    "strided": lambda v: np.asarray([v, v, v])[::2][:1],
}


def special_values(kind: type[np.generic]) -> list[np.generic]:
    dtype = np.dtype(kind)
    if dtype.kind == "f":
        info = np.finfo(dtype)
        small = info.smallest_subnormal
        return [kind(v) for v in (0.0, -0.0, 1.5, info.max, info.min, small, -small, np.inf, -np.inf, np.nan)]
    if dtype.kind == "b":
        return [np.True_, np.False_]
    limits = np.iinfo(dtype)
    return [kind(limits.min), kind(limits.max), kind(1)]


# Promise P6: NumPy and torch values of one element keep their dtype.
@both
@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("kind", NUMPY_TYPES, ids=lambda kind: kind.__name__)
def test_a_numpy_value_keeps_its_dtype_and_bits(
    run: tracker.Run, kind: type[np.generic], wrapper: str, by: str
) -> None:
    values = special_values(kind)
    handle = run.metric("x")
    for step, value in enumerate(values):
        wrapped = WRAPPERS[wrapper](value)
        if by == "log":
            run.log({"x": wrapped}, step=step)
        else:
            handle.log(wrapped, step)
    h = tracker.open_run(run.uid).history("x")
    stored_as = np.dtype(np.int64) if np.dtype(kind).kind in "iu" else np.dtype(kind)
    assert h.values.dtype == stored_as
    assert h.values.tobytes() == b"".join(bits(value.astype(stored_as)) for value in values)
    assert run.status().values_rejected == 0


@pytest.mark.parametrize(
    "pattern, dtype", [(0x7FC0_BEEF, np.float32), (0x7F80_0001, np.float32), (0x7E42, np.float16), (0xFC01, np.float16)]
)
def test_the_payload_of_a_small_nan_is_kept(run: tracker.Run, pattern: int, dtype: type[np.generic]) -> None:
    width = np.dtype(dtype).itemsize
    raw = pattern.to_bytes(width, "little")
    run.log({"x": np.frombuffer(raw, dtype)[0], "y": np.frombuffer(raw, dtype)}, step=0)
    r = tracker.open_run(run.uid)
    assert r.history("x").values.tobytes() == raw
    assert r.history("y").values.tobytes() == raw


def test_uint64_beyond_int64_becomes_a_float(run: tracker.Run) -> None:
    run.log({"x": np.uint64(2**63), "y": np.uint64(2**63 - 1)}, step=0)
    r = tracker.open_run(run.uid)
    assert r.history("x").values.tolist() == [2.0**63]
    assert r.history("y").values.tolist() == [2**63 - 1]
    assert r.history("y").values.dtype == np.int64


def test_longdouble_becomes_float64(run: tracker.Run) -> None:
    run.log({"x": np.longdouble("0.1"), "y": np.array(2.5, np.longdouble)}, step=0)
    r = tracker.open_run(run.uid)
    assert r.history("x").values.tobytes() == struct.pack("<d", float(np.longdouble("0.1")))
    assert r.history("y").values.tolist() == [2.5]


def test_a_nan_of_bfloat16_keeps_all_its_bits(run: tracker.Run) -> None:
    words = [0xFFB2, 0x7FB9, 0x7F81, 0x7FC0, 0xFFFF, 0x7F80]
    array = np.array(words, "u2").view(ml_dtypes.bfloat16)
    for i in range(len(words)):
        run.log({"scalar": array[i], "one": array[i : i + 1], "none": array[i : i + 1].reshape(())}, step=i)
    handle = run.metric("handle")
    for i in range(len(words)):
        handle.log(array[i], i)
    run.flush()
    for name in ("scalar", "one", "none", "handle"):
        assert tracker.open_run(run.uid).history(name).values.view("u2").tolist() == words, name


def test_bfloat16_is_kept_and_read_as_ml_dtypes_has_it(run: tracker.Run) -> None:
    values = [ml_dtypes.bfloat16(v) for v in (0.0, -0.0, 1.5, -3.0e38, 9.2e-41, math.inf, math.nan)]
    for step, value in enumerate(values):
        run.log({"x": value, "y": np.asarray([value])}, step=step)
    r = tracker.open_run(run.uid)
    for name in ("x", "y"):
        h = r.history(name)
        assert h.dtype_logged == "bfloat16"
        assert h.values.dtype == ml_dtypes.bfloat16
        assert h.values[:6].tobytes() == np.asarray(values[:6]).tobytes()
        assert math.isnan(float(h.values[6]))


class FakeTensor:
    """What a tensor shows of itself: no buffer, a dtype by name, detach(), numel(), item()."""

    def __init__(self, value: float, dtype: str, count: int = 1) -> None:
        self.value, self.count = value, count
        self.dtype = type("dtype", (), {"__str__": lambda _: f"torch.{dtype}"})()
        self.detached = False

    def numel(self) -> int:
        return self.count

    def detach(self) -> FakeTensor:
        other = FakeTensor(self.value, "x", self.count)
        other.detached = True
        return other

    def item(self) -> float:
        assert self.detached, "a tensor with a graph must be detached first"
        return self.value


@pytest.mark.parametrize(
    "dtype, value",
    [("float32", 1.25), ("float16", -0.5), ("bfloat16", 2.0), ("float64", 0.1), ("int64", 3), ("bool", True)],
)
def test_a_tensor_keeps_its_dtype(run: tracker.Run, dtype: str, value: float) -> None:
    run.log({"x": FakeTensor(value, dtype)}, step=0)
    h = tracker.open_run(run.uid).history("x")
    assert h.dtype_logged == dtype
    assert h.values.tolist() == [value]


def test_decimal_fraction_and_what_has_float_or_index_are_converted(run: tracker.Run) -> None:
    class WithFloat:
        def __float__(self) -> float:
            return 0.75

    class WithIndex:
        def __index__(self) -> int:
            return 12

    run.log(
        {"d": decimal.Decimal("0.1"), "f": fractions.Fraction(1, 3), "w": WithFloat(), "i": WithIndex()},
        step=0,
    )
    r = tracker.open_run(run.uid)
    assert r.history("d").values.tolist() == [0.1]
    assert r.history("f").values.tolist() == [1 / 3]
    assert r.history("w").values.tolist() == [0.75]
    assert r.history("i").values.tolist() == [12]
    assert r.history("i").values.dtype == np.int64


def test_text_is_stored_under_its_step_and_none_is_no_value(run: tracker.Run) -> None:
    run.log({"note": "first", "nothing": None, "x": 1.0}, step=4)
    run.log({"note": "second – ünïcode"}, step=5)
    run.metric("note").log("third", 6)
    r = tracker.open_run(run.uid)
    assert [(row.step, row.text) for row in r.texts("note")] == [
        (4, "first"),
        (5, "second – ünïcode"),
        (6, "third"),
    ]
    assert r.series() == ["x"]
    assert r.text_names() == ["note"]
    assert run.status().values_rejected == 0


BAD_VALUES = {
    "complex": 1 + 2j,
    "numpy complex": np.complex64(1),
    "clongdouble": np.clongdouble(1),
    "list": [1.0],
    "bytes": b"1",
    "object": object(),
    "type": float,
    "two elements": np.zeros(2),
    "no element": np.zeros(0),
    "two-element tensor": FakeTensor(0.0, "float32", 2),
    "datetime64": np.datetime64("2024-01-01"),
    "datetime64 array": np.array("2024-01-01", dtype="datetime64[s]"),
    "masked": np.ma.masked,
    "masked array": np.ma.array([1.0], mask=[True]),
    "signalling decimal": decimal.Decimal("sNaN"),
    "int beyond float64": 10**400,
    "lone surrogate": "\ud800",
}


# Promise P4: Of a call with a bad value or key the others are kept; the bad one is counted and named once.
@both
@pytest.mark.parametrize("name", BAD_VALUES)
def test_a_bad_value_is_counted_and_named_and_the_others_are_kept(
    run: tracker.Run, name: str, by: str, capfd: pytest.CaptureFixture[str]
) -> None:
    bad = BAD_VALUES[name]
    if by == "log":
        run.log({"before": 1.0, "bad": bad, "after": 2.0}, step=0)
    else:
        run.metric("bad").log(bad, 0)
        run.log({"before": 1.0, "after": 2.0}, step=0)
    status = run.status()
    assert status.values_rejected == 1
    assert status.points_logged == 2
    assert "'bad'" in capfd.readouterr().err
    r = tracker.open_run(run.uid)
    assert r.series() == ["after", "before"]
    assert r.losses.rejected_values == 1


# A masked value was stored as the 0.0 of its buffer, a date refused as "eight elements".
@pytest.mark.parametrize(
    ("value", "why"),
    [
        (np.ma.masked, "a masked value is no number"),
        (np.ma.array(1.0, mask=True), "a masked value is no number"),
        (np.datetime64("2024-01-01"), "log it in seconds"),
        (np.array("2024-01-01", dtype="datetime64[s]"), "log it in seconds"),
        (np.timedelta64(3, "s"), "log it in seconds"),
        (np.zeros(2), "expected one element, got 2"),
    ],
)
def test_what_looks_like_a_number_and_is_none_is_refused_in_plain_words(
    strict_run: tracker.Run, value: object, why: str
) -> None:
    with pytest.raises(TypeError, match=why):
        strict_run.log({"x": value}, step=0)
    strict_run.log({"x": np.ma.array([2.0], mask=[False])}, step=0)
    assert tracker.open_run(strict_run.uid).history("x").values.tolist() == [2.0]


def test_the_history_of_a_text_points_to_the_texts(run: tracker.Run) -> None:
    run.log({"txt": "hello", "x": 1.0}, step=0)
    r = tracker.open_run(run.uid)
    for ask in (lambda: r.history("txt"), lambda: r.history(["x", "txt"])):
        with pytest.raises(tracker.NotFoundError, match=r"'txt' holds texts.*use texts\('txt'\)"):
            ask()
    with pytest.raises(tracker.NotFoundError, match="nothing"):
        r.history("nothing")


def test_mixed_types_under_one_key_read_as_the_common_type(run: tracker.Run) -> None:
    run.log({"x": 1}, step=0)
    run.log({"x": 0.5}, step=1)
    run.log({"x": np.float32(0.25)}, step=2)
    h = tracker.open_run(run.uid).history("x")
    assert h.values.dtype == np.float64
    assert h.values.tolist() == [1.0, 0.5, 0.25]


def test_the_last_value_is_that_of_the_last_row_whatever_its_type() -> None:
    values = [0.5, 0.9, 1, 0.7]  # as they come out of JSON
    for _ in range(20):  # several rows in one microsecond, or not
        with tracker.init(project="test", quiet=True, capture="none") as run:
            for step, value in enumerate(values):
                run.log({"acc": value}, step=step)
        stored = tracker.open_run(run.uid)
        assert stored.summary["acc"] == 0.7
        assert stored.history("acc").values.tolist() == values
