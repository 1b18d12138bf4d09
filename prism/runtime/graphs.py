"""Launches made again at the same addresses as one: a graph, which takes the driver less than a launch does."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any, TypeAlias

from prism.runtime.device import using
from prism.runtime.driver import DeviceError, check, driver
from prism.runtime.extended_launch import function_called
from prism.runtime.forks import Lock
from prism.runtime.scratch import allocating

Again: TypeAlias = tuple[Any, tuple[Any, ...]]
"""A function of the driver and its arguments: it launches a graph, and gives a status. One thread at a time calls it."""
_NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING: no other stream waits for it, so none may be taken for captured, too
_EXTERNAL = 1  # CU_EVENT_RECORD_EXTERNAL: a node of the graph records it
_MOST = 1024  # graphs that a process has: each takes some of the GPU's memory
_LOOKS = 16  # at whether a trial has ended
_DOING = "making a graph"
_making, _made = Lock(), [0]


class Trial:
    """A graph that is launched once by `launch()`, and says by `microseconds()` how long the GPU was at its kernels.

    Two events stand in the graph itself, so what the host takes for its launch is not in it. One thread at a time calls either.
    """

    def __init__(self, graph: int, stream: int, events: tuple[Any, Any]) -> None:
        self._graph, self._events, self._looks = graph, events, 0
        self._again = _launching(graph, stream)
        self._status: int | None = None  # of its launch

    def launch(self) -> int:
        """Launch it; return the driver's status."""
        function, arguments = self._again
        self._status = int(function(*arguments))
        return self._status

    def microseconds(self) -> float | None:
        """Return what the GPU took; infinity where nobody can tell, or it was waited for long; None: it has not ended."""
        if self._status is None:  # another thread is about to launch it
            return None
        cuda, (begin, end) = driver(), self._events
        self._looks += 1
        status, took = cuda.cuEventElapsedTime(begin, end)
        if status == cuda.CUresult.CUDA_ERROR_NOT_READY and self._looks < _LOOKS:
            return None
        if int(status) or self._status:  # what may be under way stays
            return float("inf")
        cuda.cuGraphExecDestroy(self._graph)
        for event in self._events:
            cuda.cuEventDestroy(event)
        return float(took) * 1e3


def trial_of(launch: Callable[[int], None], ordinal: int, stream: int) -> Trial | None:
    """Return what `launch` does as a graph that is timed, on a stream's handle; None where the driver makes no such graph.

    `launch(stream)` launches kernels that are ready, on a GPU, on a stream of its own.
    """
    try:
        with _making, allocating(), using(ordinal):
            begin, end = (check(driver().cuEventCreate(0), _DOING) for _ in range(2))

            def timed(own: int) -> None:
                record = driver().cuEventRecordWithFlags
                check(record(begin, own, _EXTERNAL), _DOING)
                launch(own)
                check(record(end, own, _EXTERNAL), _DOING)

            return Trial(_graph_of(timed, ordinal), stream, (begin, end))
    except DeviceError:
        return None


def graph_of(launch: Callable[[int], None], ordinal: int, stream: int) -> Again | None:
    """Return what launches the same as a graph, which lives as long as the process; None, too, where there are many."""
    try:
        with _making, allocating(), using(ordinal):
            if _made[0] >= _MOST:
                return None
            _made[0] += 1
            return _launching(_graph_of(launch, ordinal), stream)
    except DeviceError:
        return None


def _launching(graph: int, stream: int) -> Again:
    return function_called("cuGraphLaunch"), tuple(map(ctypes.c_void_p.from_param, (graph, stream)))


def _graph_of(launch: Callable[[int], None], ordinal: int) -> int:
    cuda, own = driver(), _stream(ordinal)
    check(cuda.cuStreamBeginCapture(own, cuda.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED), _DOING)
    try:
        launch(int(own))
    finally:
        captured = cuda.cuStreamEndCapture(own)
    found = check(captured, _DOING)
    try:
        return int(check(cuda.cuGraphInstantiate(found, 0), _DOING))
    finally:
        cuda.cuGraphDestroy(found)


@functools.cache
def _stream(ordinal: int) -> Any:
    return check(driver().cuStreamCreate(_NON_BLOCKING), _DOING)
