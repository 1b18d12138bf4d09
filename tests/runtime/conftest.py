"""A driver that records, for tests without a GPU."""

import ctypes
import struct
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from prism.runtime import capture, device, extended_launch, launch, scratch
from tests.machine_code import call_compiler


class Driver:
    """A driver that records: as much of it as a launch and scratch memory need."""

    def __init__(self) -> None:
        self.launched: list[tuple[Any, ...]] = []
        self.capturing = 0
        self.asking = 0  # the status of asking whether a stream is captured
        self.allocated: list[int] = []
        self.cleared: list[tuple[int, int, int]] = []  # addresses, bytes and streams
        self.mode = 0  # of captures, for this thread
        self.ids: dict[int, int] = {}
        self.synchronised = 0
        self.status = 0
        self.kinds: list[tuple[int, ...]] = []  # the attributes of each launch
        self.questions: list[int] = []  # streams that were asked whether they are captured
        self.before: list[Any] = []  # nodes that the next launch in the capture waits for

    def launch(self, configuration: Any, function: Any, arguments: Any, extra: Any) -> int:
        """`cuLaunchKernelEx`, as ctypes calls it."""
        c = configuration._obj
        kinds = tuple(c.attributes[k].kind for k in range(c.count))
        assert all(c.attributes[k].value[0] == 1 for k in range(c.count)) and extra is None
        function, arguments = (ctypes.cast(given, ctypes.c_void_p) for given in (function, arguments))
        if extended_launch.COOPERATIVE in kinds:
            pointers = (ctypes.c_void_p * 2).from_address(arguments.value)
            values = tuple(ctypes.c_int64.from_address(pointer or 0).value for pointer in pointers)
        else:
            pointer = ctypes.c_void_p.from_address(arguments.value).value
            assert pointer is not None
            values = struct.unpack("i", ctypes.string_at(pointer, 4))
        shape = (c.blocks, c.blocks_y, c.blocks_z, c.threads, c.threads_y, c.threads_z)
        self.launched.append((function.value, *shape, c.shared, c.stream or 0, *values))
        self.kinds.append(kinds)
        return self.status

    def question(self, stream: Any, answer: Any) -> int:
        """`cuStreamIsCapturing`, as ctypes calls it."""
        self.questions.append(stream.value or 0)
        answer._obj.value = self.capturing
        return self.asking

    def cuStreamGetCaptureInfo(self, stream: int) -> tuple[Any, ...]:
        assert self.capturing
        return Status(self.asking), self.capturing, 1, "a graph", self.before, None, len(self.before)

    @staticmethod
    def cuGraphNodeGetType(node: Any) -> tuple[Any, int]:
        return Status(0), node.kind

    @staticmethod
    def cuGraphKernelNodeGetParams(node: Any) -> tuple[Any, Any]:
        assert node.kind == 0, "of a kernel alone"
        return Status(0), node

    @staticmethod
    def CUresult(status: int) -> Any:
        return Status(status)

    def cuStreamGetId(self, stream: int) -> tuple[Any, int]:
        assert not self.capturing, "this call invalidates a capture"
        return Status(0), self.ids.get(stream, stream)

    def cuMemAlloc(self, nbytes: int) -> tuple[Any, int]:
        assert not self.capturing or self.mode == 2, "not allowed in a capture"
        self.allocated.append(nbytes)
        return Status(0), len(self.allocated) << 20

    def cuThreadExchangeStreamCaptureMode(self, mode: int) -> tuple[Any, int]:
        before, self.mode = self.mode, mode
        return Status(0), before

    @staticmethod
    def CUstreamCaptureMode(mode: int) -> int:
        return mode

    def cuStreamCreate(self, flags: int) -> tuple[Any, int]:
        assert flags == 1, "one that waits for no other"
        assert not self.capturing or self.mode == 2, "not allowed in a capture"
        return Status(0), 777

    def cuStreamSynchronize(self, stream: int) -> tuple[Any]:
        assert stream == 777 and self.cleared[-1][2] == 777, "the zeros alone are waited for"
        return (Status(0),)

    def cuStreamDestroy(self, stream: int) -> tuple[Any]:
        assert stream == 777
        return (Status(0),)

    def cuMemsetD8Async(self, pointer: int, value: int, nbytes: int, stream: int) -> tuple[Any]:
        assert value == 0
        assert not self.capturing or stream == 777, "zeros would be written at each replay"
        self.cleared.append((pointer, nbytes, stream))
        return (Status(0),)

    def cuCtxSynchronize(self) -> tuple[Any]:
        assert not self.capturing, "this call invalidates a capture"
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
    for module in (launch, device, scratch, capture):
        monkeypatch.setattr(module, "driver", lambda: fake)
    monkeypatch.setattr(launch, "current_device", lambda: 0)
    monkeypatch.setattr(extended_launch, "launch_function", lambda: fake.launch)
    monkeypatch.setattr(extended_launch, "question", lambda: fake.question)
    monkeypatch.setattr(capture, "_known", set())
    monkeypatch.setattr(device, "device", lambda _: SimpleNamespace(context=1))
    return fake


@pytest.fixture(autouse=True)
def compiler() -> Iterator[None]:
    """The compiler itself: these tests are about it."""
    with call_compiler():
        yield
