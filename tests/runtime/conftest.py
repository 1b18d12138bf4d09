"""A driver that records, for tests without a GPU."""

import ctypes
import struct
from types import SimpleNamespace
from typing import Any

import pytest

from prism.runtime import device, launch, scratch


class Driver:
    """A driver that records: as much of it as a launch and scratch memory need."""

    def __init__(self) -> None:
        self.launched: list[tuple[Any, ...]] = []
        self.capturing = 0
        self.allocated: list[int] = []
        self.ids: dict[int, int] = {}
        self.synchronised = 0
        self.status = 0

    def cuLaunchKernel(self, function: Any, *rest: Any) -> tuple[Any]:
        pointer = ctypes.c_void_p.from_address(rest[8]).value
        assert pointer is not None
        self.launched.append((function, *rest[:8], struct.unpack("i", ctypes.string_at(pointer, 4))[0]))
        return (Status(self.status),)

    def cuLaunchCooperativeKernel(self, function: Any, *rest: Any) -> tuple[Any]:
        pointers = (ctypes.c_void_p * 2).from_address(rest[8])
        values = tuple(ctypes.c_int64.from_address(pointer or 0).value for pointer in pointers)
        self.launched.append((function, *rest[:8], *values))
        return (Status(self.status),)

    def cuStreamIsCapturing(self, stream: int) -> tuple[Any, int]:
        return Status(0), self.capturing

    def cuStreamGetId(self, stream: int) -> tuple[Any, int]:
        assert not self.capturing, "this call invalidates a capture"
        return Status(0), self.ids.get(stream, stream)

    def cuMemAlloc(self, nbytes: int) -> tuple[Any, int]:
        self.allocated.append(nbytes)
        return Status(0), len(self.allocated) << 20

    def cuMemsetD8Async(self, *_: Any) -> tuple[Any]:
        return (Status(0),)

    def cuCtxSynchronize(self) -> tuple[Any]:
        self.synchronised += 1
        return (Status(0),)

    def cuCtxPushCurrent(self, _: Any) -> tuple[Any]:
        return (Status(0),)

    def cuCtxPopCurrent(self) -> tuple[Any, int]:
        return Status(0), 0


class Status(int):
    name = "CUDA_ERROR_OF_THE_TEST"


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Driver:
    fake = Driver()
    for module in (launch, device, scratch):
        monkeypatch.setattr(module, "driver", lambda: fake)
    monkeypatch.setattr(launch, "current_device", lambda: 0)
    monkeypatch.setattr(device, "device", lambda _: SimpleNamespace(context=1))
    return fake
