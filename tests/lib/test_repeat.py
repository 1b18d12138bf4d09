"""A warm call of `scan` launches what the first one did, and decides nothing anew: on arrays and a driver that only look so."""

import ctypes
import functools
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

import prism.lib as lib
from prism.lib import repeat, scan, scan_plans, scans, segments
from prism.runtime import extended_launch, launch, scratch
from prism.runtime.build import entry_of
from prism.runtime.launch import Launcher
from prism.runtime.scratch import Scratch


class Driver:
    """A driver that records launches: blocks, threads, stream; and the first two arguments. `stream` is CuPy's current one."""

    def __init__(self) -> None:
        self.launched: list[tuple[int, int, int]] = []
        self.addresses: list[tuple[int, int]] = []
        self.stream = SimpleNamespace(ptr=7)

    def launch(self, configuration, function, arguments, extra):
        shape = configuration._obj
        self.launched.append((shape.blocks, shape.threads, shape.stream or 0))
        at = (ctypes.c_void_p * 2).from_address(arguments.value)
        self.addresses.append(tuple(ctypes.c_uint64.from_address(place).value for place in at))
        return 0

    def cuDeviceGetCount(self):
        return 0, 1

    def cuStreamIsCapturing(self, stream):
        return 0, 0

    def cuStreamGetId(self, stream):
        return 0, stream

    def cuMemAlloc(self, nbytes):
        return 0, 1 << 40

    def cuMemsetD8Async(self, *_):
        return (0,)

    def cuCtxPushCurrent(self, _):
        return (0,)

    def cuCtxPopCurrent(self):
        return 0, 0


class Array:
    """What `describe` takes for a CuPy array."""

    def transpose(self, axes):
        assert axes == tuple(range(len(self.shape)))
        return self

    def __init__(
        self, pointer: int, shape: tuple[int, ...], kind: str = "int32", contiguous: bool = True, device: int = 0
    ) -> None:
        self.data = SimpleNamespace(ptr=pointer, device_id=device)
        self.dtype, self.shape = np.dtype(kind), shape
        self.strides = np.empty(shape, kind).strides if contiguous else (8,) * len(shape)
        self.flags = SimpleNamespace(c_contiguous=contiguous)


Array.__module__, Array.__name__ = "cupy", "ndarray"


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    found = Driver()
    runtime = SimpleNamespace(getDevice=lambda: 0)
    cuda = SimpleNamespace(get_current_stream=lambda device: found.stream, runtime=runtime)
    empty = lambda shape, dtype: Array(1 << 35, (shape,) if isinstance(shape, int) else shape, dtype)
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda, ndarray=Array, empty=empty))
    place = SimpleNamespace(ordinal=0, sm_count=132, arch="sm_90a", capability=(9, 0), context=1)
    loaded = SimpleNamespace(function=1, kernel=2, device=place, occupancy=lambda threads, shared: 2)

    @functools.cache
    def launcher(kernel: object, template: tuple, ordinal: int) -> Launcher:
        return Launcher(entry_of(scan_plans.program(kernel, template), place.arch), loaded)

    monkeypatch.setattr(scan_plans, "launcher", launcher)
    monkeypatch.setattr(scan_plans, "SCRATCH", Scratch())
    for module in (launch, scratch):
        monkeypatch.setattr(module, "driver", lambda: found)
    for module in (scans, segments):
        monkeypatch.setattr(module, "device", lambda ordinal: place)
    monkeypatch.setattr("prism.runtime.device.driver", lambda: found)
    monkeypatch.setattr("prism.runtime.device.device", lambda ordinal: place)
    monkeypatch.setattr(launch, "current_device", lambda: 0)
    monkeypatch.setattr(extended_launch, "launch_function", lambda: found.launch)
    monkeypatch.setattr(extended_launch, "question", lambda: lambda stream, answer: 0)
    repeat.forget()
    monkeypatch.setattr(scans, "_plans", {})
    yield found
    repeat.forget()


def decided(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count calls that decide anew."""
    calls: list[int] = []
    run = scans.run
    monkeypatch.setattr(scans, "run", lambda *arguments: calls.append(1) or run(*arguments))
    return calls


@pytest.mark.parametrize("shape", [(1000,), (1 << 16,), (1 << 24,), (300, 700), (1 << 20, 8)])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_the_second_call_launches_the_same(gpu: Driver, monkeypatch: pytest.MonkeyPatch, shape, axis) -> None:
    calls = decided(monkeypatch)
    flat = shape if axis is not None else (int(np.prod(shape)),)
    for number in range(3):
        x, y = Array(1 << 30 | number << 24, shape), Array(1 << 33 | number << 24, flat)
        assert scan(x, axis=axis, out=y) is y
    assert len(gpu.launched) == 3 and len(set(gpu.launched)) == 1 and gpu.launched[0][2] == 7
    assert len(calls) == 1
    for _ in range(2):
        wide = Array(1 << 33, flat, "int64")
        assert lib.cumsum(Array(1 << 30, shape), axis, out=wide) is wide
    assert len(gpu.launched) == 5 and len(calls) == 2


def test_after_many_shapes_the_last_ones_are_known(gpu: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept has an end: then the old goes, for a shape that is never kept could never be captured in a graph."""
    calls = decided(monkeypatch)
    for module in (repeat, scans):
        monkeypatch.setattr(module, "_MOST", 3)
    for size in range(1000, 1008):
        for _ in range(2):
            scan(Array(1 << 30, (size,)), out=Array(1 << 33, (size,)))
    assert len(calls) == 8 and len(gpu.launched) == 16
    assert 1 <= len(scans._plans) <= 3 and 1 <= len(repeat._kept) <= 3


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_results_are_made_as_the_first_was(gpu: Driver, monkeypatch: pytest.MonkeyPatch, axis) -> None:
    calls, shape = decided(monkeypatch), (300, 700)
    for function, kind in ((scan, "int32"), (lib.cumsum, "int64")):
        made = [function(Array(1 << 30, shape), axis=axis) for _ in range(3)]
        assert {(y.shape, str(y.dtype)) for y in made} == {((210_000,) if axis is None else shape, kind)}
        assert len({id(y) for y in made}) == 3
    assert len(calls) == 2 and len(gpu.launched) == 6


def test_what_must_be_decided_anew(gpu: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = decided(monkeypatch)
    x, y = Array(1 << 30, (5000,)), Array(1 << 33, (5000,))
    scan(x, out=y)
    assert len(calls) == 1
    others = [
        ({}, Array((1 << 30) + 4, (5000,)), y),  # not aligned
        ({}, Array(1 << 30, (5000,), "float32"), Array(1 << 33, (5000,), "float32")),
        ({}, Array(1 << 30, (4999,)), Array(1 << 33, (4999,))),
        ({"exclusive": True}, x, y),
        ({"reverse": True}, x, y),
        ({"op": "maximum"}, x, y),
        ({"axis": 0}, x, y),
        ({"stream": 9}, x, y),
        ({"initial": 0}, x, y),
    ]
    for number, (options, source, target) in enumerate(others, 2):
        scan(source, out=target, **options)
        assert len(calls) == number, options
    scan(x, out=y)
    assert len(calls) == len(others) + 1


@pytest.mark.parametrize("stream", [0, 7])
@pytest.mark.parametrize("size", [1000, 1 << 20])
def test_what_a_warm_call_notices(gpu: Driver, monkeypatch: pytest.MonkeyPatch, stream: int, size: int) -> None:
    """On the default stream, whose launches are packed, and on another: what is not as it was is looked at, and refused."""
    gpu.stream.ptr = stream
    calls, (a, b) = decided(monkeypatch), (1 << 30, 1 << 33)
    x, y = Array(a, (size,)), Array(b, (size,))
    for k in range(3):
        scan(Array(a + 64 * k, (size,)), out=Array(b + 16 * k, (size,)))
    assert gpu.addresses == [(a + 64 * k, b + 16 * k) for k in range(3)] and len(calls) == 1
    for source, target, error, what in [
        (Array(a, (size,), "float32"), y, TypeError, "`out` must be of float32"),
        (x, Array(b, (size,), "uint32"), TypeError, "`out` must be of int32"),
        (x, Array(b, (size - 1,)), ValueError, "`out` must have shape"),
        (x, Array(b, (size, 1)), ValueError, "`out` must have shape"),
        (Array(a, (size - 1,)), y, ValueError, "`out` must have shape"),
        (x, Array(b, (size,), contiguous=False), ValueError, "`out` must be C-contiguous"),
        (x, Array(b, (size,), device=1), ValueError, "`x` is on GPU 0, `out` on GPU 1"),
        (Array(a, (size,), device=1), y, ValueError, "`x` is on GPU 1, `out` on GPU 0"),
        (x, np.zeros(size, np.int32), TypeError, "`x` is on GPU 0, `out` on the host"),
    ]:
        with pytest.raises(error, match=what):
            scan(source, out=target)
    assert len(gpu.launched) == 3 and len(calls) == 1
    scan(Array(a + 4, (size,)), out=y)  # not aligned: another kernel
    assert len(calls) == 2
    scan(x, out=y)
    assert len(calls) == 2 and gpu.addresses[-1] == (a, b) and {launch[2] for launch in gpu.launched} == {stream}
    repeat.forget()
    scan(x, out=y)
    assert len(calls) == 3 and gpu.addresses[-1] == (a, b)


class Kind(NamedTuple):
    """A dtype of torch."""

    is_complex: bool


class Tensor:
    """What `repeat` takes for a tensor of torch; on GPU 0 unless it says otherwise."""

    is_cuda, dtype = True, Kind(is_complex=True)
    device = 0
    shape: tuple[int, ...] = (5,)

    def __init__(self, pointer: int, **facts: object) -> None:
        self.pointer, self.conj, self.neg = pointer, facts.pop("conj", False), facts.pop("neg", False)
        self.sparse = facts.pop("sparse", False)
        self.__dict__.update(facts)

    def get_device(self):
        return self.device

    def data_ptr(self):
        if self.sparse:
            raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")
        return self.pointer

    def stride(self):
        return (1,)

    def is_conj(self):
        return self.conj

    def is_neg(self):
        return self.neg


def test_tensors_that_are_not_what_their_memory_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Conjugated and negated views are flags beside the same memory; to launch on it would be to ignore them."""
    cuda = SimpleNamespace(current_stream=lambda device: SimpleNamespace(cuda_stream=7))
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    launched: list[tuple[int, ...]] = []
    repeat.forget()
    x, y = Tensor(1 << 30), Tensor(1 << 33)
    repeat.keep("torch", x, y, ("f",), lambda *given: launched.append(given), (0, 40, 40), in_place=True, made=False)
    assert repeat.run(x, y, ("f",)) is y and launched == [(1 << 30, 1 << 33, 7)]
    others = (
        {"conj": True},
        {"neg": True},
        {"sparse": True},
        {"is_cuda": False},
        {"dtype": Kind(is_complex=False)},
        {"shape": (4,)},
    )
    for facts in (*others, {"device": 1}):
        assert repeat.run(Tensor(1 << 30, **facts), y, ("f",)) is None, facts
        assert repeat.run(x, Tensor(1 << 33, **facts), ("f",)) is None, facts
    assert len(launched) == 1
    repeat.forget()


def test_arrays_that_overlap_are_not_taken_for_others(gpu: Driver) -> None:
    x, y = Array(1 << 30, (5000,)), Array(1 << 33, (5000,))
    asked = ("scan", "add", None, type(None), False, False, None)
    scan(x, out=y)
    assert repeat.run(x, y, asked)
    assert repeat.run(x, Array(1 << 30, (5000,)), asked)  # in place
    assert not repeat.run(x, Array((1 << 30) + 16, (5000,)), asked)
    assert not repeat.run(x, Array((1 << 30) - 16, (5000,)), asked)
    assert repeat.run(x, Array((1 << 30) + 20_000, (5000,)), asked)
    assert not repeat.run(x, np.empty(5000, np.int32), asked)
    with pytest.raises(TypeError, match="`axis`"):
        scan(x, axis=0.0, out=y)


@pytest.mark.parametrize("count", [False, True])
def test_what_segments_and_keys_launch(gpu: Driver, monkeypatch: pytest.MonkeyPatch, count: bool) -> None:
    """On a GPU: where segments begin, then the scan; and one launch for runs of keys."""
    monkeypatch.setattr(Array, "__setitem__", lambda self, at, value: None, raising=False)
    monkeypatch.setattr(Array, "__getitem__", lambda self, at: 3 if at == 0 else self, raising=False)
    monkeypatch.setattr(Array, "reshape", lambda self, *shape: self, raising=False)
    x, offsets = Array(1 << 30, (10_000,)), Array(1 << 33, (300,))
    assert lib.segmented_scan(x, offsets).shape == (10_000,)
    assert gpu.launched == [(2, 256, 7), (2, 256, 7)]  # 300 offsets, and two tiles
    assert lib.segmented_reduce(x, offsets).shape == (299,)
    assert gpu.launched[2:] == [(38, 256, 7)]  # a warp each
    assert lib.scan_by_key(Array(1 << 34, (10_000,), "int16"), x).shape == (10_000,)
    found = lib.reduce_by_key(Array(1 << 34, (10_000,), "int16"), x, count=count)
    assert len(gpu.launched) == 5 and len(found) == 2 + count and str(found[0].dtype) == "int16"
