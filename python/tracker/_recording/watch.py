# SPDX-License-Identifier: MIT
"""run.watch(): norm, mean, std, min and max of a PyTorch model's gradients and parameters, as metrics, and where asked
for their histograms (docs/watch.md).

A hook before each forward pass counts passes and hands over what the pass before has left; hooks of the parameters take
five numbers of each gradient while a pass is due, and the counts of its bins. The numbers stay on the model's device
until they are handed over, all in one copy, for which nothing waits (device_values.py). No graph is kept.
What fails here is said once and never reaches the training, unless the run is strict. torch is looked up, never
imported.
"""

from __future__ import annotations

import itertools
import os
import sys
import weakref

from tracker._open_runs import say_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, Protocol

    from tracker._open_runs import OpenRun

    class RunOfModel(OpenRun, Protocol):
        """What watch() uses of a Run."""

        _watched: list[Any]

        @property
        def step(self) -> int: ...


# Of a model; further ones are left out, which is said.
# Limit: parameters that run.watch() watches. Beyond it: not watched, reported once.
PARAMETERS_MAX = 1000
# Of a model; further ones have numbers alone, which is said
# Limit: parameters with histograms in run.watch(). Beyond it: numbers alone, reported once.
HISTOGRAMS_MAX = 100
HISTOGRAM_BINS = 64
# Of a tensor; of a larger one each n-th value counts
# Limit: values of a tensor that a histogram of run.watch() counts. Beyond it: each n-th value counts.
HISTOGRAM_VALUES_MAX = 262_144
KINDS = {"gradients": ("gradients",), "parameters": ("parameters",), "all": ("gradients", "parameters")}
NUMBERS = ("norm", "mean", "std", "min", "max")
FLOAT64 = 1  # of the types of metrics


def watch(run: RunOfModel, model: Any, log: str | None, log_freq: int, prefix: str, histograms: bool) -> None:
    """Run.watch()."""
    torch: Any = sys.modules.get("torch")
    models = list(model) if isinstance(model, (list, tuple)) else [model]
    for each in models:
        if torch is None or not isinstance(each, torch.nn.Module):
            raise TypeError(f"watch() takes a torch.nn.Module or a list of them, got {type(each).__name__}")
    if log is not None and log not in KINDS:
        raise ValueError(f"watch(log=...): expected 'gradients', 'parameters', 'all' or None, got {log!r}")
    if isinstance(log_freq, bool) or not isinstance(log_freq, int):
        raise TypeError(f"watch(log_freq=...) must be an int, got {type(log_freq).__name__}")
    if log_freq < 1:
        raise ValueError(f"watch(log_freq=...) must be 1 or more, got {log_freq}")
    if not isinstance(prefix, str):
        raise TypeError(f"watch(prefix=...) must be a str, got {type(prefix).__name__}")
    if log is None or not run._core.recording:
        return
    for each in models:
        if all(watched.model() is not each for watched in run._watched):
            run._watched.append(Watched(run, torch, each, KINDS[log], log_freq, prefix, bool(histograms)))


def unwatch(run: RunOfModel, model: Any) -> None:
    """Run.unwatch()."""
    for watched in list(run._watched):
        if model is None or watched.model() is model:
            run._watched.remove(watched)
            watched.end()


class Watched:
    """The hooks of one model. Threads: those of its passes."""

    def __init__(
        self,
        run: RunOfModel,
        torch: Any,
        model: Any,
        kinds: tuple[str, ...],
        log_freq: int,
        prefix: str,
        histograms: bool,
    ) -> None:
        self.run, self.torch, self.kinds, self.log_freq, self.prefix = run, torch, kinds, log_freq, prefix
        self.histograms = histograms
        self.with_histogram: set[str] = set()  # of each kind the first of the model: gradients come backwards
        self.model: Callable[[], Any] = weakref.ref(model)
        self.passes = 0
        self.due = False  # the pass under way is one whose numbers are taken
        self.fired = False  # and it has gone backwards
        self.by_backward = False  # gradients show when a pass has ended; else each forward pass is one
        # name of a metric without its last part -> a tensor of five numbers, and of a histogram's ends and counts
        self.taken: dict[str, Any] = {}
        self.said = False
        self.hooks = [model.register_forward_pre_hook(self._before_forward)]
        if "gradients" in kinds:
            for name, parameter in self._parameters(model):
                if parameter.requires_grad:
                    self.by_backward = True
                    self.hooks.append(parameter.register_hook(self._hook(f"{prefix}gradients/{name}")))
        if histograms:
            for kind in kinds:
                names = [n for n, p in self._parameters(model) if kind != "gradients" or p.requires_grad]
                self.with_histogram |= {f"{prefix}{kind}/{name}" for name in names[:HISTOGRAMS_MAX]}

    def end(self) -> None:
        """Hands over what the last pass has left, and removes the hooks."""
        for hook in self.hooks:
            hook.remove()
        self.hooks.clear()
        model = self.model()
        if self.due and model is not None:
            self._safely(self._hand_over, model)
        self.due = False

    def _parameters(self, model: Any) -> Iterator[tuple[str, Any]]:
        for count, (name, parameter) in enumerate(model.named_parameters()):
            if count == PARAMETERS_MAX:
                self._say(f"a model of more than {PARAMETERS_MAX:,} parameters: the others are not watched")
                return
            yield name, parameter

    def _before_forward(self, model: Any, _: Any) -> None:
        if not self.torch.is_grad_enabled() or _is_captured(self.torch):
            return
        if self.by_backward and not self.fired and self.passes > 0:
            return  # a model may run more than once before its backward pass
        if self.due:
            self.due = False
            self._safely(self._hand_over, model)
        self.due = self.passes % self.log_freq == 0
        self.fired = False
        self.passes += 1

    def _hook(self, name: str) -> Callable[[Any], None]:
        def take(gradient: Any) -> None:
            if self.due and not _is_captured(self.torch):
                self._safely(self._take, name, gradient)
            self.fired = True

        return take

    def _take(self, name: str, tensor: Any) -> None:
        with self.torch.no_grad():
            values = tensor.detach()
            if values.is_sparse:
                values = values.coalesce().values()
            if values.is_complex():
                values = values.abs()
            if values.numel() == 0:
                return
            if values.dtype is not self.torch.float64:
                values = values.float()
            numbers = (values.norm(), values.mean(), values.std(unbiased=False), values.min(), values.max())
            row = self.torch.stack(numbers).double()
            self.taken[name] = self.torch.cat((row, self._bins(values))) if self._has_histogram(name) else row

    def _has_histogram(self, name: str) -> bool:
        if self.histograms and name not in self.with_histogram:
            self._say(f"histograms of {HISTOGRAMS_MAX} parameters are logged; of the others numbers alone are")
        return name in self.with_histogram

    def _bins(self, values: Any) -> Any:
        """The smallest and the largest finite value, and how many fall into each bin between. Nothing here waits for
        the device: no size and no range is asked for on the host."""
        torch = self.torch
        flat = values.reshape(-1)
        flat = flat[:: -(-flat.numel() // HISTOGRAM_VALUES_MAX)].double()
        finite = torch.isfinite(flat)
        low = torch.where(finite, flat, torch.full_like(flat, float("inf"))).min()
        high = torch.where(finite, flat, torch.full_like(flat, float("-inf"))).max()
        place = torch.nan_to_num((flat - low) / (high - low) * HISTOGRAM_BINS).clamp(0, HISTOGRAM_BINS - 1)
        place = torch.where(finite, place, torch.full_like(place, HISTOGRAM_BINS)).long()
        counts = torch.zeros(HISTOGRAM_BINS + 1, dtype=flat.dtype, device=flat.device)
        counts.scatter_add_(0, place, torch.ones_like(flat))
        return torch.cat((low.reshape(1), high.reshape(1), counts[:-1]))

    def _hand_over(self, model: Any) -> None:
        if "parameters" in self.kinds:
            for name, parameter in self._parameters(model):
                self._take(f"{self.prefix}parameters/{name}", parameter)
        taken, self.taken = self.taken, {}
        devices: dict[Any, list[str]] = {}  # rows of one length on one device, which stack
        for name, numbers in taken.items():
            devices.setdefault((numbers.device, numbers.numel()), []).append(name)
        step = max(self.run.step, 0)
        for names in devices.values():
            self._log(names, self.torch.stack([taken[name] for name in names]), step)

    def _log(self, names: list[str], rows: Any, step: int) -> None:
        """Rows on a GPU are logged when they have arrived: nothing here waits for it."""

        def log(host: Any) -> None:
            data: dict[str, Any] = {}
            for name, row in zip(names, host.tolist(), strict=True):
                data.update({f"{name}/{what}": value for what, value in zip(NUMBERS, row, strict=False)})
                if len(row) > len(NUMBERS) and (histogram := _histogram(row[len(NUMBERS) :])) is not None:
                    data[f"{name}/histogram"] = histogram
            self.run.log(data, step=step)

        def drop(why: str) -> None:
            for name in names:
                for what in NUMBERS:
                    self.run._core.drop_values(f"{name}/{what}", FLOAT64, 1, why)

        if not rows.is_cuda:
            log(rows)
            return
        if self.run._pid != os.getpid():  # a forked child, which records nothing
            return
        from tracker._recording import device_values

        device_values.fetch(self.run._core, rows, log, drop)

    def _safely(self, body: Callable[..., None], *arguments: Any) -> None:
        try:
            body(*arguments)
        except Exception as error:  # whatever it is, the training shall not meet it
            if self.run._core.strict:
                raise
            self._say(f"{type(error).__name__}: {error}; some of its numbers are missing")

    def _say(self, what: str) -> None:
        if not self.said:
            self.said = True
            say_of(self.run, f"watch: {what}")


def _is_captured(torch: Any) -> bool:
    """A CUDA graph is captured: what is computed now is none of this pass's numbers, and nothing may wait."""
    return bool(torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing())


def _histogram(row: list[float]) -> Any:
    """None where no value was finite."""
    from tracker._media.histograms_curves import Histogram

    low, high, counts = row[0], row[1], [int(count) for count in row[2:]]
    if not low <= high:
        return None
    edges = [low + (high - low) * (i / len(counts)) for i in range(len(counts))] + [high]
    if any(a >= b for a, b in itertools.pairwise(edges)):  # too narrow for so many bins: one
        half = max(abs(low), abs(high)) * 1e-6 or 1e-6
        counts, edges = [sum(counts)], [low - half, high + half]
    return Histogram(counts=counts, edges=edges)
