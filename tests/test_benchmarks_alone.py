"""A call is timed behind another library's kernel: what the host takes is no part of it."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / "asv_bench"


class Chip:
    """A clock, a GPU that takes 200 us for a product of matrices and 5 us for a kernel, and of CuPy what asks for the time."""

    def __init__(self) -> None:
        self.now = self.idle = 0.0  # of the host, and when the GPU has done all that it was given
        self.cuda, chip = self, self

        class Event:
            at = 0.0

            def record(self, stream: object = None) -> None:
                self.at = max(chip.now, chip.idle)

            def synchronize(self) -> None:
                chip.now = max(chip.now, chip.idle)

        self.Event = Event

    def Device(self) -> object:
        return self.Event()

    def get_current_stream(self) -> object:
        return contextlib.nullcontext()

    def ones(self, shape: tuple[int, int], dtype: str) -> Chip:
        return self

    def __matmul__(self, other: Chip) -> None:
        self.launch(200e-6)

    def launch(self, seconds: object = None) -> None:
        """Begin a kernel when the GPU is free; of a graph, which says a stream, one of 5 us."""
        self.idle = max(self.now, self.idle) + (seconds if isinstance(seconds, float) else 5e-6)

    def get_elapsed_time(self, begin: Any, end: Any) -> float:
        return float(end.at - begin.at) * 1e3


@pytest.mark.parametrize("host", [10e-6, 300e-6])
def test_a_call_alone_is_not_the_hosts_time(host: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call of functions without names takes the host longer than the product before it takes the GPU."""
    chip = Chip()

    def call() -> None:
        chip.now += host
        chip.launch()

    def graph_of(call: Callable[[int], None], launches: int) -> tuple[Chip, object]:
        for i in range(launches):
            call(i)
        return chip, contextlib.nullcontext()

    monkeypatch.setitem(sys.modules, "measure", SimpleNamespace(graph_of=graph_of))
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    module = importlib.import_module("selection")
    assert module.timed_alone(chip, {"count": call}, {}, 3) == {"count": pytest.approx(5)}
    assert module.timed_alone(chip, {}, {"whole": call}, 3)["whole"] == pytest.approx(max(host * 1e6 - 195, 5))
