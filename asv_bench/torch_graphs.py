"""Calls on torch's arrays timed as CUDA graphs, beside each other: what the scripts of rows and layers share."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from typing import Any

import torch

Call = Callable[[int], Any]


def tensors_of(found: Any) -> tuple[Any, ...]:
    """Return what a call has returned, as a tuple."""
    return tuple(found) if isinstance(found, tuple | list) else (found,)


def bits(x: Any) -> Any:
    """Return a tensor's bytes."""
    return x.view(-1).view(torch.uint8)


class Graphed:
    """A call as a CUDA graph of so many launches, on two sets of arrays in turn.

    Raises:
        AssertionError: the graph does not do what the call does: what it is to write was poisoned, and is not written alike.
    """

    def __init__(self, name: str, call: Call, launches: int, turns: int = 2) -> None:
        self.launches, stream = launches, torch.cuda.Stream()
        with torch.cuda.stream(stream):
            kept = [call(i) for i in range(turns)]
            stream.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph, stream=stream):
                self.kept = [call(i % turns) for i in range(launches)]
        wanted = [one.clone() for one in tensors_of(kept[0])]
        for one in tensors_of(self.kept[0]):
            bits(one).fill_(0xEE)
        self.graph.replay()
        torch.cuda.synchronize()
        for one, other in zip(tensors_of(self.kept[0]), wanted, strict=True):
            assert torch.equal(bits(one), bits(other)), f"{name}: its graph does something else, or nothing"

    def seconds(self) -> float:
        """Return the seconds of a launch."""
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        self.graph.replay()
        end.record()
        end.synchronize()
        return float(begin.elapsed_time(end)) / self.launches / 1e3


def medians(calls: Mapping[str, Call], rounds: int, launches: int = 4, turns: int = 2) -> dict[str, float]:
    """Return the median seconds of a call, by name, of alternating rounds."""
    graphs = {name: Graphed(name, call, launches, turns) for name, call in calls.items()}
    times: dict[str, list[float]] = {name: [] for name in graphs}
    for number in range(rounds + 1):
        for name in [*graphs][:: 1 if number % 2 else -1]:
            found = graphs[name].seconds()
            if number:
                times[name].append(found)
    return {name: statistics.median(found) for name, found in times.items()}
