"""Several launches made again at the same addresses: as a graph they take the driver as long as one."""

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
_making, _made = Lock(), [0]


def graph_of(launch: Callable[[int], None], ordinal: int, stream: int) -> tuple[Any, tuple[Any, ...]] | None:
    """Return a function of the driver and its arguments that make what `launch` does, on a stream's handle.

    `launch(stream)` launches kernels that are ready, on a GPU that is current. The function's result is the driver's status. One
    thread at a time may call it. None where the driver makes no such graph, or there are many. A graph lives as long as the
    process.
    """
    if _made[0] >= _MOST:
        return None
    cuda, doing = driver(), "making a graph"
    with _making, allocating():
        _made[0] += 1
        try:
            own = _stream(ordinal)
            check(cuda.cuStreamBeginCapture(own, cuda.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED), doing)
            try:
                launch(int(own))
            finally:
                captured = cuda.cuStreamEndCapture(own)
            found = check(captured, doing)
            try:
                graph = int(check(cuda.cuGraphInstantiate(found, 0), doing))
            finally:
                cuda.cuGraphDestroy(found)
            return function_called("cuGraphLaunch"), tuple(map(ctypes.c_void_p.from_param, (graph, stream)))
        except DeviceError:
            return None


@functools.cache
def _stream(ordinal: int) -> Any:
    return check(driver().cuStreamCreate(_NON_BLOCKING), "making a graph")
