"""What stands in for CUDA and CuPy in tests of what the library launches."""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from prism.host import call, machine, pinned
from prism.lang.check import parsed_of
from prism.runtime import arrays, capture, device, extended_launch, scratch, viewed
from prism.runtime.instance import Instance
from prism.runtime.launch import Held

PLACE = SimpleNamespace(sm_count=132, capability=(9, 0), arch="sm_90a", ordinal=0)
WORDS = 1 << 20
"""Where all scratch memory is."""


class Launcher:
    """A kernel's launcher that tells `note(blocks, threads, stream, values)` what it is launched with, and launches nothing."""

    ordinal = 0

    def __init__(self, note: Callable[[int, int, int, tuple[Any, ...]], None], names: tuple[str, ...] = ()) -> None:
        self.note = note
        self.entry = SimpleNamespace(parameters=[SimpleNamespace(name=name) for name in names], cooperative=False)

    def __call__(self, blocks: int, threads: int, stream: int, values: Any) -> None:
        self.note(blocks, threads, stream, tuple(values))

    def resident_blocks(self, threads: int) -> int:
        return 264

    def prepare(self, blocks: int, threads: int, stream: int, values: Any, places: Any = None) -> Held:
        configuration = SimpleNamespace(stream=stream)

        def launch() -> int:
            read = {position: ctypes.c_uint64.from_address(place).value for position, place in (places or {}).items()}
            given = tuple(read.get(position, value) for position, value in enumerate(values))
            self.note(blocks, threads, configuration.stream, given)
            return 0

        return Held(configuration, launch, (), None)


def c_strides(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    return tuple(size * math.prod(shape[k + 1 :]) for k in range(len(shape)))


class Array:
    """A NumPy array that passes for one of CuPy's."""

    def __init__(self, x: Any, dtype: Any = None, room: Any = None, *, device: int = 0) -> None:
        if room is not None:  # `x` is a shape, as for CuPy's
            x = room.kept[: int(np.prod(x)) * np.dtype(dtype).itemsize].view(dtype).reshape(x)
        self.dtype, self.shape, self.strides, self.kept = x.dtype, x.shape, x.strides, x
        self.data = SimpleNamespace(ptr=x.__array_interface__["data"][0], device_id=device)

    @classmethod
    def at(
        cls, pointer: int, shape: tuple[int, ...], kind: Any = "int32", *, gaps: bool = False, device: int = 0
    ) -> Array:
        """Return one at an address where nothing is."""
        found = cls.__new__(cls)
        found.dtype, found.shape, found.kept = np.dtype(kind), shape, None
        found.strides = (8,) * len(shape) if gaps else c_strides(shape, found.dtype.itemsize)
        found.data = SimpleNamespace(ptr=pointer, device_id=device)
        return found

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def _c_contiguous(self) -> bool:
        return tuple(self.strides) == c_strides(self.shape, self.dtype.itemsize)

    def __len__(self) -> int:
        return int(self.shape[0])

    def __setitem__(self, where: Any, value: Any) -> None:
        self.kept[where] = getattr(value, "kept", value)

    def __getitem__(self, where: Any) -> Any:
        found = self.kept[where]
        return Array(found) if isinstance(found, np.ndarray) else found

    def transpose(self, axes: Any) -> Array:
        return Array(self.kept.transpose(axes))

    def reshape(self, *shape: Any) -> Array:
        return Array(self.kept.reshape(*shape))


Array.__module__, Array.__name__ = "cupy", "ndarray"


class Room:
    """Memory of CuPy's pool."""

    def __init__(self, nbytes: int) -> None:
        self.kept, self.device_id = array(nbytes, "uint8").kept, 0
        self.ptr = self.kept.__array_interface__["data"][0]


def array(shape: Any, kind: Any = "float32", shift: int = 0) -> Array:
    """One that begins `shift` elements past a multiple of 64 bytes."""
    size = int(np.prod(shape))
    room = np.zeros(size + 256, kind)
    start = (-room.__array_interface__["data"][0] % 64) // room.itemsize + shift
    return Array(room[start : start + size].reshape(shape))


class Gpu:
    """What was launched: kernel, blocks, threads, stream and values; whether a graph is being captured; CuPy's current stream.

    `count`: what kernels write where the host waits for a number; None: nothing.
    """

    def __init__(self) -> None:
        self.launched: list[tuple[Instance, int, int, int, tuple[Any, ...]]] = []
        self.cleared: list[tuple[int, int, int]] = []
        self.ready: set[Instance] = set()
        self.decided = 0
        self.count = 0
        self.capturing = False
        self.stream = 77

    def launcher(self, instance: Instance, ordinal: int) -> Launcher:
        if instance not in self.ready:
            capture.require_loading()
            self.ready.add(instance)
        names = tuple(p.name for p in parsed_of(instance.kernel).parameters)
        return Launcher(lambda *given: self.launched.append((instance, *given)), names)

    @property
    def addresses(self) -> list[tuple[int, ...]]:
        """The stream of each launch, and its first two arguments."""
        return [(stream, *values[:2]) for _, _, _, stream, values in self.launched]


@contextmanager
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gpu]:
    """Put a `Gpu` in the place of CUDA, and `Array` in that of CuPy's arrays."""
    found = Gpu()
    current = lambda device: SimpleNamespace(ptr=found.stream)
    cuda = SimpleNamespace(get_current_stream=current, runtime=SimpleNamespace(getDevice=lambda: 0))
    cuda.Stream = SimpleNamespace(from_external=lambda handle: _nothing())
    cuda.alloc = lambda nbytes: Room(nbytes)
    empty = lambda shape, dtype: array(shape, dtype)
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda, ndarray=Array, empty=empty))
    monkeypatch.setitem(arrays._DESCRIBERS, Array, arrays._cupy)
    monkeypatch.setattr(machine, "launcher_of", found.launcher)
    monkeypatch.setattr(machine, "device", lambda ordinal: PLACE)
    monkeypatch.setattr(machine, "KEPT", SimpleNamespace(get=lambda *given: WORDS))
    clear = lambda pointer, nbytes, stream, ordinal: found.cleared.append((pointer, nbytes, stream))
    again = lambda pointer, nbytes, stream: (lambda: clear(pointer.value, nbytes, stream.value or 0, 0), ())
    monkeypatch.setattr(extended_launch, "clear_memory", clear)
    monkeypatch.setattr(extended_launch, "clearing", again)
    monkeypatch.setattr(device, "count", lambda: 1)
    nothing_kept = SimpleNamespace(get=lambda key: None, put=lambda *given: False)
    monkeypatch.setattr(viewed, "store", lambda: nothing_kept)
    _stand_in_for_pinned(monkeypatch, found)
    monkeypatch.setattr(scratch, "capturing", lambda stream: found.capturing)
    decided = call._decide

    def deciding(*given: Any) -> Any:
        found.decided += 1
        return decided(*given)

    monkeypatch.setattr(call, "_decide", deciding)
    call.forget()
    yield found
    call.forget()


def _stand_in_for_pinned(monkeypatch: pytest.MonkeyPatch, gpu: Gpu) -> None:
    """Let pinned memory be the host's; where it is waited for, the last launches have written their words there."""
    page = (ctypes.c_int64 * 512)()

    def wait(stream: int) -> tuple[int]:
        start = ctypes.addressof(page)
        for value in (one for launch in gpu.launched[-3:] for one in launch[4]):
            if gpu.count is not None and type(value) is int and start <= value < start + 4096:
                ctypes.c_int64.from_address(value).value = gpu.count
        return (0,)

    fake = SimpleNamespace(cuMemHostAlloc=lambda *given: (0, ctypes.addressof(page)), cuStreamSynchronize=wait)
    monkeypatch.setattr(pinned, "driver", lambda: fake)
    monkeypatch.setattr(pinned, "using", lambda ordinal: _nothing())
    monkeypatch.setattr(pinned, "check", lambda status, doing: status[-1])
    monkeypatch.setattr(pinned, "capturing", lambda stream: gpu.capturing)
    monkeypatch.setattr(pinned, "_free", [])


@contextmanager
def _nothing() -> Iterator[None]:
    yield
