# SPDX-License-Identifier: MIT
"""Goal: a value on a device is logged or counted, whatever ends the call that logs it, and a forked child has none.

Method: a stand-in for torch whose copies arrive at once, or never, so that no PyTorch is needed; Ctrl-C is a signal
that comes at a chosen or at a random place. Real tensors: tests/torch/test_device_tensors.py.
"""

from __future__ import annotations

import contextlib
import gc
import os
import random
import signal
import sys
import time
import types
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tracker
from tracker._recording import device_values

CALLS = int(os.environ.get("TRACKER_TEST_INTERRUPTS", "4_000"))


class Tensor:
    """On a device; who asks for its value waits."""

    is_cuda = True
    dtype = "torch.float32"
    device = "cuda:0"

    def __init__(self, *values: float) -> None:
        self.values = list(values)
        self.shape = (len(values),)

    def numel(self) -> int:
        return len(self.values)

    def detach(self) -> Tensor:
        return self

    def reshape(self, _: int) -> Tensor:
        return self

    def item(self) -> float:
        raise AssertionError("waited for the device")


class Host:
    """In the memory of the host."""

    arrives = True

    def __init__(self, size: int) -> None:
        self.values = [0.0] * size

    def copy_(self, values: Tensor, non_blocking: bool) -> None:
        assert non_blocking
        if self.arrives:
            self.values = list(values.values)

    def item(self) -> float:
        return self.values[0]

    def __iter__(self) -> Iterator[float]:
        return iter(self.values)


class Event:
    def record(self) -> None:
        pass

    def query(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def torch(monkeypatch: pytest.MonkeyPatch) -> Iterator[types.ModuleType]:
    module: Any = types.ModuleType("torch")
    module.uint8 = "torch.uint8"
    module.no_grad = contextlib.nullcontext
    module.cat = lambda parts: Tensor(*[value for part in parts for value in part.values])
    module.empty = lambda shape, dtype, pin_memory: Host(shape[0])
    module.zeros = lambda size, dtype, pin_memory: Host(size)
    module.ones = lambda size, dtype, device: Tensor(*[1.0] * size)
    module.cuda = types.SimpleNamespace(
        is_current_stream_capturing=lambda: False, device=lambda _: contextlib.nullcontext(), Event=Event
    )
    monkeypatch.setitem(sys.modules, "torch", module)
    monkeypatch.setattr(device_values, "_queue", device_values.Queue())
    yield module
    device_values._queue.end(None, 0)


@pytest.fixture
def nothing_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Host, "arrives", False)


def steps(run: tracker.Run, name: str) -> list[int]:
    steps: list[int] = tracker.open_run(run.id).history(name).steps.tolist()
    return steps


# Bugs: Ctrl-C in the wrong place left a mark that somebody looks, and nothing from a device was logged any more; or it
# took with it a value of an earlier call, uncounted. What Python swallows, as in a callback of threading's own WeakSet,
# is no matter of ours.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ctrl_c_anywhere_in_log_costs_no_value_of_another_call(run: tracker.Run) -> None:
    armed = False  # the signal may come late, through another thread or ThreadSanitizer's runtime: it is ignored then

    def interrupt(*_: object) -> None:
        nonlocal armed
        if armed:
            armed = False
            raise KeyboardInterrupt

    seed = random.SystemRandom().randrange(1 << 32)
    generator = random.Random(seed)
    returned, interrupted = [], 0
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for step in range(CALLS):
            delay = generator.uniform(5e-6, 120e-6)
            try:
                armed = True
                signal.setitimer(signal.ITIMER_REAL, delay)
                run.log({"loss": Tensor(float(step))}, step=step)
                returned.append(step)
                armed = False
            except KeyboardInterrupt:
                interrupted += 1
    finally:
        armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        time.sleep(0.05)  # what is still on its way meets the handler above
        signal.signal(signal.SIGALRM, before)
    assert run.flush(30), seed
    status = run.status()
    assert status.values_on_device == 0, seed
    stored = steps(run, "loss")
    assert set(returned) <= set(stored), f"seed {seed}"
    assert len(stored) == len(set(stored)), f"seed {seed}"
    # Of a call that was ended before it read its values nothing is known.
    assert len(returned) <= status.points_stored + status.points_dropped <= CALLS, f"seed {seed}"
    assert interrupted > 0


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """SIGINT raises, also where the tests were begun in the background, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Ends(Tensor):
    """Raises KeyboardInterrupt when it is copied."""

    def detach(self) -> Tensor:
        signal.raise_signal(signal.SIGINT)
        return self


@pytest.mark.usefixtures("ctrl_c")
def test_of_a_call_that_ctrl_c_ends_each_value_is_stored_or_counted(run: tracker.Run) -> None:
    histogram = tracker.Histogram(counts=[1, 2], edges=[0, 1, 2])
    with pytest.raises(KeyboardInterrupt):
        run.log({"lr": 0.1, "loss": Ends(1.0), "note": "text", "histogram": histogram}, step=1)
    run.finish()
    stored = tracker.open_run(run.id)
    assert stored.history("lr").steps.tolist() == [1]
    assert [text.text for text in stored.texts("note")] == ["text"]
    assert stored.losses.by_reason == {"not arrived from a device": 1}
    assert stored.media_account["logged"] == stored.media_account["dropped"] == 1


@pytest.mark.usefixtures("ctrl_c")
def test_values_that_were_handed_over_are_not_counted_as_lost_when_the_call_ends_later(run: tracker.Run) -> None:
    class EndsLater(tracker.Histogram):
        """Raises KeyboardInterrupt when its encoder is read."""

        made = False

        def __getattribute__(self, name: str) -> Any:
            if name == "_encoder" and EndsLater.made:
                signal.raise_signal(signal.SIGINT)
            return super().__getattribute__(name)

    media = [EndsLater(counts=[1], edges=[0, 1]), tracker.Histogram(counts=[1], edges=[0, 1])]
    EndsLater.made = True
    with pytest.raises(KeyboardInterrupt):
        run.log({"loss": Tensor(1.0), "first": media[0], "second": media[1]}, step=1)
    run.finish()
    stored = tracker.open_run(run.id)
    assert (stored.history("loss").steps.tolist(), stored.losses.dropped) == ([1], 0)
    assert stored.media_account["logged"] == 2
    assert stored.media_account["dropped"] + stored.media_account["lost"] == 2


def test_what_does_not_arrive_is_counted_under_a_reason_of_its_own(
    nothing_arrives: None, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(device_values, "WAITING_VALUES_MAX", 4)
    run = tracker.init(project="t", quiet=True)
    for step in range(10):
        run.log({"loss": Tensor(1.0)}, step=step)
    run.finish(timeout=0.1)
    assert tracker.open_run(run.id).losses.by_reason == {"not arrived from a device": 10}
    said = capfd.readouterr().err
    assert "values on a device are dropped and counted" in said
    assert "ring" not in said


def test_a_forked_child_starts_nothing_and_its_end_waits_for_nothing(run: tracker.Run, nothing_arrives: None) -> None:
    child = os.fork()
    if child == 0:
        run.log({"lr": 0.1, "loss": Tensor(1.0)}, step=0)
        os._exit(10 * len(list(Path("/proc/self/task").iterdir())) + run.status().values_on_device)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 10


@pytest.mark.parametrize("end", [lambda run: run.flush(10), lambda run: run.finish()], ids=["flush", "finish"])
def test_no_tensor_is_held_after_flush_and_finish(run: tracker.Run, end: Callable[[tracker.Run], object]) -> None:
    tensor = Tensor(1.0)
    held = weakref.ref(tensor)
    run.log({"loss": tensor}, step=0)
    del tensor
    end(run)
    gc.collect()
    assert held() is None


def test_a_thread_that_cannot_be_started_is_done_without(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(_: object) -> None:
        raise RuntimeError("can't start new thread")

    with tracker.init(project="t", quiet=True, strict=True) as run:
        monkeypatch.setattr(device_values.threading.Thread, "start", no_room)
        for step in range(100):
            run.log({"loss": Tensor(float(step))}, step=step)
        assert run.flush(10)
        monkeypatch.undo()
        monkeypatch.setenv("TRACKER_DIR", str(store))
        assert steps(run, "loss") == list(range(100))


def test_more_than_may_wait_that_has_arrived_is_not_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_values, "WAITING_VALUES_MAX", 10)
    with tracker.init(project="t", quiet=True, strict=True) as run:
        for step in range(1000):
            run.log({"loss": Tensor(float(step))}, step=step)
    assert steps(run, "loss") == list(range(1000))
