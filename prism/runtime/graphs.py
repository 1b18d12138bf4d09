"""Launches made again at the same addresses as one: a graph, which takes the driver less than a launch does."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

from prism.runtime.driver import DeviceError, check, driver
from prism.runtime.extended_launch import function_called
from prism.runtime.forks import Lock
from prism.runtime.scratch import allocating

_NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING: no other stream waits for it, so none may be taken for captured, too
_MOST = 1024  # graphs that a process has: each takes some of the GPU's memory
_LOOKS = 16  # at whether a trial has ended
_DOING = "making a graph"
_making, _made = Lock(), [0]


class Trial:
    """A graph that is launched by `first()`, which also brings it to the GPU, and by `second()`, which is timed.

    `again`: the driver's function that launches it, and its arguments. One thread at a time calls any of these. `waits`: for its
    second launch.
    """

    def __init__(self, graph: int, stream: int) -> None:
        self.again = function_called("cuGraphLaunch"), tuple(map(ctypes.c_void_p.from_param, (graph, stream)))
        self.waits = False
        self._stream, self._looks = stream, 0
        self._status: int | None = None  # of the launch that was timed, or of one that failed
        self._events = [check(driver().cuEventCreate(0), _DOING) for _ in range(2)]

    def first(self) -> int:
        """Launch it; return the driver's status."""
        launch, arguments = self.again
        status: int = launch(*arguments)
        if status:
            self._status = status
        self.waits = not status
        return status

    def second(self) -> int:
        """Launch it between two events; return the driver's status."""
        record = driver().cuEventRecord
        launch, arguments = self.again
        record(self._events[0], self._stream)
        status: int = launch(*arguments)
        record(self._events[1], self._stream)
        self._status = status
        return status

    def microseconds(self) -> float | None:
        """Return what the GPU took; infinity where nobody can tell, or it was waited for long; None: it has not ended."""
        if self._status is None:  # another thread is about to launch it
            return None
        cuda, (begin, end) = driver(), self._events
        self._looks += 1
        status, took = cuda.cuEventElapsedTime(begin, end)
        if status == cuda.CUresult.CUDA_ERROR_NOT_READY and self._looks < _LOOKS:
            return None
        for event in self._events:
            cuda.cuEventDestroy(event)
        return float(took) * 1e3 if int(status) == self._status == 0 else float("inf")


def trial_of(launch: Callable[[int], None], ordinal: int, stream: int) -> Trial | None:
    """Return what `launch` does as a graph, on a stream's handle. It lives as long as the process.

    `launch(stream)` launches kernels that are ready, on a GPU that is current. None where the driver makes no such graph, or
    there are many.
    """
    try:
        with _making, allocating():
            if _made[0] >= _MOST:
                return None
            _made[0] += 1
            return Trial(_graph_of(launch, ordinal), stream)
    except DeviceError:
        return None


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
