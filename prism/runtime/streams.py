"""Which stream work goes to: the array's library's current one, unless the caller names another."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable
from typing import Any

from prism.runtime.arrays import ArrayInfo
from prism.runtime.driver import check, driver

LEGACY = 1
_SAME = {0: LEGACY}  # both mean the legacy default stream


def current_stream(info: ArrayInfo) -> int:
    """Return the handle of the current stream of the array's library, on the array's device.

    An array of no known library goes to the stream that it says it is made on, else to the legacy default stream.
    """
    if info.library == "cupy":
        return int(sys.modules["cupy"].cuda.get_current_stream(info.device).ptr)
    if info.library == "torch":
        return int(of_torch(sys.modules["torch"])(info.device))
    return LEGACY if info.producer is None else info.producer


def of_torch(torch: Any) -> Callable[[Any], int]:
    """Return what gives the handle of torch's current stream on a device.

    Without the object around it, where torch has that: it is what kernels of torch.compile are launched with.
    """
    raw: Callable[[Any], int] | None = getattr(getattr(torch, "_C", None), "_cuda_getCurrentRawStream", None)
    return raw or (lambda device: torch.cuda.current_stream(device).cuda_stream)


def stream_handle(stream: Any, name: str = "stream") -> int:
    """Return the handle of a stream: anything with `__cuda_stream__`, a CuPy or torch stream, or an int.

    Raises:
        TypeError: it is none of these.
        ValueError: it is a negative int.
    """
    if isinstance(stream, bool):
        raise TypeError(f"`{name}` must be a stream or its handle, not bool")
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return int((protocol() if callable(protocol) else protocol)[1])
    for attribute in ("cuda_stream", "ptr"):  # torch, CuPy before 14
        found = getattr(stream, attribute, None)
        if isinstance(found, int):
            return found
    try:
        handle = operator.index(stream)
    except TypeError:
        kind = type(stream).__qualname__
        raise TypeError(f"`{name}` must be a stream (with __cuda_stream__) or its handle, not {kind}") from None
    if handle < 0:
        raise ValueError(f"`{name}` must be a stream's handle, not {handle}")
    return handle


def choose_stream(stream: Any, infos: Iterable[ArrayInfo]) -> int:
    """Return where work on these arrays goes: `stream`, or where it is None the first array's library's current one.

    Raises:
        TypeError, ValueError: as `stream_handle`.
    """
    if stream is not None:
        return stream_handle(stream)
    for info in infos:
        return current_stream(info)
    return LEGACY


def order(infos: Iterable[ArrayInfo], stream: int) -> None:
    """Make `stream` wait for the streams that arrays may still be under way on; costs nothing for CuPy and torch.

    Raises:
        DeviceError: the driver refuses.
    """
    waiting = {i.producer for i in infos if i.producer is not None and _same(i.producer) != _same(stream)}
    if not waiting:
        return
    cuda = driver()
    for producer in waiting:
        flag = cuda.CUevent_flags.CU_EVENT_DISABLE_TIMING
        event = check(cuda.cuEventCreate(flag), "ordering two streams")
        try:
            check(cuda.cuEventRecord(event, producer), "ordering two streams")
            check(cuda.cuStreamWaitEvent(stream, event, 0), "ordering two streams")
        finally:
            cuda.cuEventDestroy(event)


def _same(stream: int) -> int:
    return _SAME.get(stream, stream)
