# SPDX-License-Identifier: MIT
"""Goal: no call waits for a device whose values are logged, none is lost in silence, no graph is kept (F23).

Method: a stand-in for the driver, whose copies arrive when the test says so, under real tensors that fail when somebody
asks for their value; where there is a GPU, the real driver with synchronisation made an error.
"""

from __future__ import annotations

import contextlib
import gc
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import conditions
import pytest
import torch
import tracker
from conditions import needs
from tracker._recording import device_values


class OnDevice(torch.Tensor):
    """Says that it lies on a GPU; a call that asks for its value waits for that GPU."""

    is_cuda = True

    def item(self) -> Any:
        raise AssertionError("waited for the device")

    cpu = tolist = numpy = __float__ = __int__ = __bool__ = __index__ = item


def on_device(value: object, **options: Any) -> torch.Tensor:
    return torch.as_tensor(value, **options).as_subclass(OnDevice)


class Driver:
    """What of torch.cuda the tracker calls. Copies to the host are made when the test says so, in their order; the
    program's own thread alone may call."""

    def __init__(self) -> None:
        self.copies: list[tuple[torch.Tensor, torch.Tensor]] = []  # to, from as it was at the call
        self.started = 0
        self.broken = False
        self.capturing = False
        self.calls: set[str] = set()  # the threads that called

    def called(self) -> None:
        self.calls.add(threading.current_thread().name)

    def copy(self, to: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        self.called()
        self.copies.append((to, values.as_subclass(torch.Tensor).clone()))
        self.started += to.dtype is torch.uint8
        return to

    def arrive(self, marks: int = 1) -> None:
        """So many values of a call, each with the mark after it."""
        while marks > 0 and self.copies:
            to, values = self.copies.pop(0)
            to.as_subclass(torch.Tensor).view(-1)[:] = values.view(-1)
            marks -= to.dtype is torch.uint8

    def query(self) -> bool:
        self.called()
        if self.broken:
            raise RuntimeError("CUDA error: device-side assert triggered")
        return False


class Event:
    driver: Driver

    def record(self) -> None:
        self.driver.called()

    def query(self) -> bool:
        return self.driver.query()


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    found, copy = Driver(), torch.Tensor.copy_
    Event.driver = found

    def copy_(to: torch.Tensor, values: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
        return found.copy(to, values) if non_blocking else copy(to, values)

    def in_host_memory(make: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        return lambda *shape, pin_memory=False, **options: make(*shape, **options)

    monkeypatch.setattr(torch, "empty", in_host_memory(torch.empty))
    monkeypatch.setattr(torch, "zeros", in_host_memory(torch.zeros))
    monkeypatch.setattr(torch.Tensor, "copy_", copy_)
    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "device", lambda _: contextlib.nullcontext())
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: found.capturing)
    yield found
    found.arrive(len(found.copies))
    device_values._queue.end(None, 10)
    assert found.calls <= {"MainThread"}, "another thread's call would end the capture of a graph"


def rows(run: tracker.Run, name: str) -> list[tuple[int, float]]:
    history = tracker.open_run(run.id).history(name)
    return list(zip(history.steps.tolist(), history.values.tolist(), strict=True))


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.002)


# Promise P4: A tensor on a GPU is logged without waiting for it, in the order of the calls; values that do not arrive
# are counted.
def test_a_value_is_logged_with_its_step_and_type_when_it_has_arrived(store: Path, driver: Driver) -> None:
    with tracker.init(project="t", quiet=True, strict=True) as run:
        run.log({"loss": on_device(0.5), "half": on_device(2.0, dtype=torch.bfloat16), "lr": 0.1}, step=7)
        assert not run.flush(0.05)
        assert run.status().values_on_device == 2
        assert tracker.open_run(run.id).series() == ["lr"]
        driver.arrive(2)
        assert run.flush(10)
        assert run.status().values_on_device == 0
        assert (rows(run, "loss"), rows(run, "half")) == ([(7, 0.5)], [(7, 2.0)])
        assert tracker.open_run(run.id).history("loss").values.dtype == "float32"
        assert run.status().points_logged == 3


def test_values_of_one_call_come_over_in_one_copy_a_dtype(store: Path, driver: Driver) -> None:
    with tracker.init(project="t", quiet=True, strict=True) as run:
        run.log({f"m{i}": on_device(float(i)) for i in range(10)} | {"n": on_device(3)}, step=0)
        assert driver.started == 2
        driver.arrive(2)
    assert [rows(run, f"m{i}") for i in range(10)] == [[(0, float(i))] for i in range(10)]
    assert rows(run, "n") == [(0, 3)]


def test_automatic_steps_go_on_while_nothing_has_arrived(store: Path, driver: Driver) -> None:
    with tracker.init(project="t", quiet=True, strict=True) as run:
        handle = run.metric("loss")
        for i in range(3):
            handle.log(on_device(float(i)))
        run.log({"loss": 3.5})
        driver.arrive(3)
    assert sorted(rows(run, "loss")) == [(0, 0.0), (1, 1.0), (2, 2.0), (3, 3.5)]


def test_a_tensor_that_is_changed_in_place_afterwards_is_logged_as_it_was(store: Path, driver: Driver) -> None:
    total = torch.zeros(())
    with tracker.init(project="t", quiet=True, strict=True) as run:
        for step in range(3):
            total.add_(1)
            run.log({"total": total.as_subclass(OnDevice)}, step=step)
        driver.arrive(3)
    assert rows(run, "total") == [(0, 1.0), (1, 2.0), (2, 3.0)]


def test_no_graph_is_kept_while_a_value_is_on_its_way(store: Path, driver: Driver) -> None:
    weight = torch.ones(1000, requires_grad=True)
    with tracker.init(project="t", quiet=True, strict=True) as run:
        hidden = weight * 2
        loss = hidden.sum().as_subclass(OnDevice)
        graph = weakref.ref(hidden)
        run.log({"loss": loss}, step=0)
        del loss, hidden
        gc.collect()
        assert graph() is None
        driver.arrive()
    assert rows(run, "loss") == [(0, 2000.0)]


def test_a_thread_logs_what_arrives_when_no_further_call_comes(store: Path, driver: Driver) -> None:
    with tracker.init(project="t", quiet=True, strict=True) as run:
        run.log({"loss": on_device(1.0)}, step=0)
        driver.arrive()
        wait_until(lambda: run.status().values_on_device == 0)
        wait_until(lambda: run.status().points_logged == 1)


def test_values_are_logged_in_the_order_of_their_calls(store: Path, driver: Driver) -> None:
    with tracker.init(project="t", quiet=True, strict=True) as run:
        for step in range(500):
            run.log({"loss": on_device(float(step))}, step=step)
            if step % 7 == 0:
                driver.arrive(7)
        driver.arrive(500)
    assert rows(run, "loss") == [(step, float(step)) for step in range(500)]


def test_more_than_may_be_on_their_way_are_dropped_and_counted(
    store: Path, driver: Driver, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(device_values, "WAITING_VALUES_MAX", 10)
    with tracker.init(project="t", quiet=True) as run:
        for step in range(25):
            run.log({"loss": on_device(float(step))}, step=step)
        driver.arrive(10)
        assert run.flush(10)
        status = run.status(series=True)
        assert (status.points_stored, status.points_dropped, status.points_pending) == (10, 15, 0)
        assert status.series is not None
        assert status.series["loss"].dropped == 15
    assert capfd.readouterr().err.count("are on their way from the device") == 1
    with tracker.init(project="t", quiet=True, strict=True) as run:
        run.log({f"m{i}": on_device(float(i)) for i in range(10)}, step=0)
        with pytest.raises(tracker.LimitError, match="on their way"):
            run.log({"loss": on_device(1.0)}, step=1)


def test_what_has_not_arrived_at_the_end_is_dropped_and_counted(store: Path, driver: Driver) -> None:
    run = tracker.init(project="t", quiet=True)
    run.log({"loss": on_device(1.0), "lr": 0.1}, step=0)
    begin = time.monotonic()
    run.finish(timeout=0.2)
    assert time.monotonic() - begin < 5
    losses = tracker.open_run(run.id).losses
    assert (losses.stored, losses.dropped) == (1, 1)


def test_a_device_that_fails_costs_what_was_on_its_way_and_says_so(
    store: Path, driver: Driver, capfd: pytest.CaptureFixture[str]
) -> None:
    with tracker.init(project="t", quiet=True) as run:
        run.log({"a": on_device(1.0)}, step=0)
        run.log({"a": on_device(2.0)}, step=1)
        driver.broken = True
        assert run.flush(10)
        assert run.status().values_on_device == 0
        run.log({"b": 1.0}, step=2)
    losses = tracker.open_run(run.id).losses
    assert (losses.stored, losses.dropped) == (1, 2)
    assert "device-side assert triggered" in capfd.readouterr().err


def test_while_a_graph_is_captured_a_value_is_rejected_and_the_rest_kept(store: Path, driver: Driver) -> None:
    driver.capturing = True
    with tracker.init(project="t", quiet=True) as run:
        run.log({"loss": on_device(1.0), "lr": 0.1}, step=0)
        assert driver.calls == set()
        assert run.status().values_rejected == 1
    assert tracker.open_run(run.id).series() == ["lr"]
    with tracker.init(project="t", quiet=True, strict=True) as run, pytest.raises(ValueError, match="captured"):
        run.log({"loss": on_device(1.0)}, step=0)


class Distributed(OnDevice):
    """Of several processes: only item() gives its value."""

    def reshape(self, *shape: Any) -> Any:
        raise RuntimeError("mixed torch.Tensor and DTensor")

    def item(self) -> float:
        return 4.5


def test_a_tensor_that_cannot_be_copied_so_is_waited_for(store: Path, driver: Driver) -> None:
    with tracker.init(project="t", quiet=True, strict=True) as run:
        run.log({"norm": torch.ones(()).as_subclass(Distributed)}, step=3)
    assert rows(run, "norm") == [(3, 4.5)]
    broken = on_device(1.0)
    with pytest.MonkeyPatch.context() as patched, tracker.init(project="t", quiet=True) as run:
        patched.setattr(torch.cuda, "Event", None)
        run.log({"a": broken, "lr": 0.1}, step=0)
        assert run.status().values_rejected == 1
    assert tracker.open_run(run.id).series() == ["lr"]


def test_while_a_graph_is_captured_no_thread_calls_the_driver(store: Path, driver: Driver) -> None:
    with tracker.init(project="t", quiet=True, strict=True) as run:
        run.log({"loss": on_device(1.0)}, step=0)
        driver.capturing = True
        driver.calls.clear()
        time.sleep(5 * device_values.LOOK_MS / 1000)
        driver.arrive()
        wait_until(lambda: run.status().values_on_device == 0)
        assert not run.flush(0) or driver.calls == set()
        assert driver.calls == set()
        driver.capturing = False
    assert rows(run, "loss") == [(0, 1.0)]


def test_watch_takes_nothing_of_a_pass_that_is_captured(store: Path, driver: Driver) -> None:
    model = torch.nn.Linear(4, 2)
    with tracker.init(project="t", quiet=True, strict=True) as run:
        run.watch(model, log_freq=1)
        driver.capturing = True
        model(torch.ones(3, 4)).sum().backward()
        driver.capturing = False
        run.log({"lr": 0.1}, step=0)
        model(torch.ones(3, 4)).sum().backward()
        run.log({"lr": 0.1}, step=1)
    assert tracker.open_run(run.id).history("gradients/weight/norm").steps.tolist() == [1]


def test_many_values_and_complex_ones_are_rejected_without_a_copy(store: Path, driver: Driver) -> None:
    with tracker.init(project="t", quiet=True) as run:
        run.log({"many": on_device([1.0, 2.0]), "complex": on_device(1j), "one": on_device([3.0])}, step=0)
        assert run.status().values_rejected == 2
        driver.arrive()
    assert rows(run, "one") == [(0, 3.0)]


def test_a_run_that_records_nothing_asks_nothing_of_the_device(store: Path, driver: Driver) -> None:
    run = tracker.init(project="t", mode="disabled")
    run.log({"loss": on_device(1.0)}, step=0)
    run.finish()
    assert driver.calls == set()


def test_a_forked_child_has_nothing_on_its_way(store: Path, driver: Driver) -> None:
    with tracker.init(project="t", quiet=True) as run:
        run.log({"loss": on_device(1.0)}, step=0)
        child = os.fork()
        if child == 0:
            os._exit(len(device_values._queue._copies))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        driver.arrive()
    assert rows(run, "loss") == [(0, 1.0)]


def test_watch_hands_the_numbers_of_a_pass_over_without_waiting(
    store: Path, driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = torch.nn.Linear(4, 2)
    with tracker.init(project="t", quiet=True, strict=True) as run:
        run.watch(model, log="parameters", log_freq=1, histograms=True)
        (watched,) = run._watched
        take = watched._take
        monkeypatch.setattr(watched, "_take", lambda name, tensor: take(name, tensor.detach().as_subclass(OnDevice)))
        run.log({"lr": 0.1}, step=5)
        model(torch.ones(3, 4))
        run.unwatch()
        assert tracker.open_run(run.id).series("parameters/*") == []
        driver.arrive(2)
    assert rows(run, "parameters/weight/max") == [(5, pytest.approx(float(model.weight.detach().max())))]
    assert len(tracker.open_run(run.id).media("parameters/weight/histogram")) == 1


def test_on_a_gpu_no_call_synchronises_and_memory_stays_flat(store: Path) -> None:
    needs(conditions.GPU)
    weight = torch.ones(1024, 1024, device="cuda", requires_grad=True)
    with tracker.init(project="t", quiet=True, strict=True) as run:
        run.log({"warm": weight.sum()}, step=0)
        assert run.flush(10)
        allocated = 0
        torch.cuda.set_sync_debug_mode("error")
        try:
            for step in range(1000):
                loss = (weight @ weight).sum() * 0 + step
                run.log({f"loss{i}": loss + i for i in range(10)}, step=step)
                if step == 100:
                    allocated = torch.cuda.memory_allocated()
        finally:
            torch.cuda.set_sync_debug_mode("default")
        assert run.flush(60)
        assert torch.cuda.memory_allocated() < allocated + (64 << 20)
    assert rows(run, "loss3") == [(step, step + 3.0) for step in range(1000)]
