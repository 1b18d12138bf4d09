"""The driver's extended launch, called by ctypes: what it takes is laid out once, and a launch changes only what is new."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from prism.runtime import device
from prism.runtime.driver import check, driver

COOPERATIVE = 2  # CU_LAUNCH_ATTRIBUTE_COOPERATIVE
PROGRAMMATIC = 6  # CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
ORDINARY = 0  # CU_LAUNCH_ATTRIBUTE_IGNORE
_CLUSTER = 4  # CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
LEGACY = 1
"""The handles of streams up to here are the legacy default stream's, of which no graph is captured."""
_VERSION = 12000


class Attribute(ctypes.Structure):
    """`CUlaunchAttribute`, of a kind whose value is an int."""

    _fields_ = (("kind", ctypes.c_uint), ("padding", ctypes.c_uint), ("value", ctypes.c_int * 16))


class Configuration(ctypes.Structure):
    """`CUlaunchConfig`, of one dimension."""

    _fields_ = (
        ("blocks", ctypes.c_uint), ("blocks_y", ctypes.c_uint), ("blocks_z", ctypes.c_uint),
        ("threads", ctypes.c_uint), ("threads_y", ctypes.c_uint), ("threads_z", ctypes.c_uint),
        ("shared", ctypes.c_uint), ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(Attribute)), ("count", ctypes.c_uint),
    )  # fmt: skip


@functools.cache
def function_called(name: str) -> Any:
    """Return a function of the driver: its arguments are instances of ctypes, its result a status.

    Raises:
        DeviceError: the driver hasn't got it.
    """
    address = check(driver().cuGetProcAddress(name.encode(), _VERSION, 0), f"looking up {name}")[0]
    return ctypes.CFUNCTYPE(ctypes.c_int)(int(address))


def launch_function() -> Any:
    """Return `cuLaunchKernelEx`. Raises DeviceError: the driver hasn't got it."""
    return function_called("cuLaunchKernelEx")


@functools.cache  # one look-up, and not two, where a result's length is waited for
def question() -> Any:
    """Return `cuStreamIsCapturing`. Raises DeviceError: the driver hasn't got it."""
    return function_called("cuStreamIsCapturing")


def _clearing() -> Any:
    """Return `cuMemsetD8Async`, of a place, a byte, a number of bytes and a stream."""
    return function_called("cuMemsetD8Async")


def clearing(pointer: ctypes.c_uint64, nbytes: int, stream: ctypes.c_void_p) -> tuple[Any, tuple[Any, ...]]:
    """Return a function and its arguments that write zeros to memory, where `pointer` says then, on a stream's handle.

    Where the device is current; the function's result is the driver's status.

    Raises:
        DeviceError: the driver hasn't got it.
    """
    return _clearing(), (pointer, 0, ctypes.c_size_t(nbytes), stream)


def clear_memory(pointer: int, nbytes: int, stream: int, ordinal: int) -> None:
    """Write zeros to memory of a GPU, on a stream's handle.

    Raises:
        DeviceError: the driver refuses.
    """
    clear, given = clearing(ctypes.c_uint64(pointer), nbytes, ctypes.c_void_p(stream))
    if device.count() == 1 and clear(*given) == 0:
        return
    with device.using(ordinal):  # of several GPUs another may be current; and this thread may have used none as yet
        check((driver().CUresult(clear(*given)),), "clearing memory")


def count_clusters(function: int, blocks: int, threads: int, shared: int, ordinal: int) -> int:
    """Return how many clusters of so many blocks of a kernel a GPU holds at once. Blocks of a cluster are on neighbours.

    Raises:
        DeviceError: the driver can't tell.
    """
    shape = (Attribute * 1)(Attribute(_CLUSTER, 0, (blocks, 1, 1)))
    configuration = Configuration(blocks, 1, 1, threads, 1, 1, shared, None, shape, 1)
    found = ctypes.c_int()
    ask = function_called("cuOccupancyMaxActiveClusters")
    with device.using(ordinal):
        status = ask(ctypes.byref(found), ctypes.c_void_p(function), ctypes.byref(configuration))
    check((driver().CUresult(status),), "counting the clusters that run at once")
    return found.value


class Call:
    """Launches of one kernel with arguments at one place, one at a time.

    `kind`: how it is launched, `COOPERATIVE` always, or `PROGRAMMATIC` where it is early: before the one before it has ended.
    `function(*arguments)` makes the launch that was settled last, on `configuration.stream`, and gives the driver's status.
    """

    __slots__ = ("_always", "_answer", "_asked", "_question", "arguments", "configuration", "function")

    def __init__(self, function: int, arguments: int, shared: int, kind: int) -> None:
        self._always = kind == COOPERATIVE
        self.configuration = Configuration(0, 1, 1, 0, 1, 1, shared, None, (Attribute * 1)(Attribute(kind, 0, (1,))), 1)
        made = map(
            ctypes.c_void_p.from_param, (function, arguments)
        )  # ready for the call: ctypes converts nothing then
        self.arguments = (ctypes.byref(self.configuration), *made, None)
        self.function = launch_function()
        if kind == PROGRAMMATIC:
            self._question, self._answer = question(), ctypes.c_int()
            where = ctypes.c_void_p.from_buffer(self.configuration, Configuration.stream.offset)  # the very field
            self._asked = (where, ctypes.byref(self._answer))

    def is_captured(self) -> bool:
        """Whether a graph is being captured on `configuration.stream`, or the driver can't tell; of what is `PROGRAMMATIC`."""
        return self._question(*self._asked) != 0 or self._answer.value != 0

    def settle(self, blocks: int, threads: int, stream: int, early: bool) -> None:
        """Say how to launch, on a stream's handle."""
        configuration = self.configuration
        configuration.blocks, configuration.threads, configuration.stream = blocks, threads, stream
        configuration.count = 1 if early or self._always else 0
