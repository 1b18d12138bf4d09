"""Warm calls of `hgemm` and `matmul` launch what the first one did, and decide nothing anew: on arrays that only look so.

Tests of prism/lib/algorithms/hgemm: api, plan; prism/lib/algorithms/matmul/api.py.
"""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import prism.lib as lib
from prism.host import arguments, machine, repeat
from prism.host import call as host
from prism.lib.algorithms.hgemm.api import decide_hgemm
from prism.runtime import extended_launch, launch
from prism.runtime.arrays import describe
from prism.runtime.entry import Entry, EntryParameter
from prism.runtime.launch import Launcher

MAPS = tuple(
    EntryParameter(f"map_{name}", "map", "float16", box=(64, 64), swizzle=128) for name in ("a", "b", "c", "out")
)
POINTERS = tuple(EntryParameter(name, "pointer", "float16") for name in ("out", "bias"))
NUMBERS = tuple(EntryParameter(name, "scalar", "int32") for name in ("m", "n", "k", "group_m", "prefetch_k"))
FACTORS = tuple(EntryParameter(name, "scalar", "float32") for name in ("alpha", "beta"))
STRIDE = EntryParameter("stride", "scalar", "int64")
SCALES = tuple(EntryParameter(name, "pointer", "float32") for name in ("scale_a", "scale_b"))
ENTRY = Entry("hgemm", "", "sm_90a", (*MAPS, POINTERS[0], STRIDE, POINTERS[1], *NUMBERS, *FACTORS, *SCALES))


class Driver:
    """A driver that records launches: the stream, where the operands and the result begin, and m, n, k."""

    def __init__(self) -> None:
        self.launched: list[tuple[int, ...]] = []
        self.statuses: list[int] = []
        self.early: list[int] = []  # attributes of each
        self.captured = 0
        self.stream = 7
        self.loaded: Any = None

    def launch(self, configuration, function, arguments, extra):
        if self.statuses:
            return self.statuses.pop(0)
        self.early.append(configuration._obj.count)
        at = (ctypes.c_void_p * len(ENTRY.parameters)).from_address(ctypes.cast(arguments, ctypes.c_void_p).value)
        a, b = (ctypes.c_uint64.from_address(at[i]).value for i in (0, 1))
        out = ctypes.c_uint64.from_address(at[4]).value
        numbers = tuple(ctypes.c_int32.from_address(at[i]).value for i in (7, 8, 9))
        self.launched.append((configuration._obj.stream or 0, a, b, out, *numbers))
        return 0

    def question(self, stream, answer):
        assert stream.value == self.stream
        answer._obj.value = self.captured
        return 0

    def cuDeviceGetCount(self):
        return 0, 1

    def CUresult(self, status):
        return type("Status", (int,), {"name": f"E{status}"})(status)


class Array:
    """What `describe` takes for a CuPy array: of memory that is not there."""

    def __init__(self, pointer, shape, kind="float16", strides=None, device: int = 0) -> None:
        if isinstance(pointer, tuple):  # as CuPy's own: a shape, a dtype and memory
            pointer, shape, kind = kind.ptr, pointer, shape
        self.data = SimpleNamespace(ptr=pointer, device_id=device)
        self.dtype, self.shape = np.dtype(kind), shape
        self.strides = np.empty(shape, kind).strides if strides is None else strides
        self.size, self.ndim = math.prod(shape), len(shape)
        self._c_contiguous = tuple(self.strides) == np.empty(shape, kind).strides

    def reshape(self, shape):
        return Array(self.data.ptr, shape, self.dtype)

    def __getitem__(self, index):
        return self


Array.__module__, Array.__name__ = "cupy", "ndarray"


class Kind(str):
    """What passes for a dtype of torch's."""

    is_complex = False


class Tensor:
    """What `describe` takes for a torch tensor."""

    is_cuda, layout = True, "strided"

    def __init__(self, pointer: int, shape: tuple[int, ...], negative: bool = False) -> None:
        self.pointer, self.shape, self.dtype, self.negative = pointer, shape, Kind("torch.bfloat16"), negative
        self.device = SimpleNamespace(index=0)

    def data_ptr(self):
        return self.pointer

    def stride(self):
        return (self.shape[1], 1)

    def is_contiguous(self):
        return True

    def is_conj(self):
        return False

    def is_neg(self):
        return self.negative

    def get_device(self):
        return 0


class Parameter(Tensor):
    """torch's, of a module's weights."""


Tensor.__module__, Parameter.__module__ = "torch", "torch.nn.parameter"


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    found = Driver()
    place = SimpleNamespace(ordinal=0, sm_count=132, arch="sm_90a", context=1)
    found.loaded = SimpleNamespace(function=1, kernel=2, device=place, occupancy=lambda *_: 1)
    launcher = Launcher(ENTRY, found.loaded)
    stream = lambda *_: SimpleNamespace(ptr=found.stream, cuda_stream=found.stream)
    runtime = SimpleNamespace(getDevice=lambda: 0)
    empty = lambda shape, dtype: Array(1 << 45, shape, dtype)
    alloc = lambda nbytes: SimpleNamespace(ptr=1 << 45, device_id=0)
    cuda = SimpleNamespace(get_current_stream=stream, runtime=runtime, alloc=alloc)
    cupy = SimpleNamespace(cuda=cuda, ndarray=Array, empty=empty)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    raw = SimpleNamespace(_cuda_getCurrentRawStream=lambda device: found.stream)
    torch = SimpleNamespace(strided="strided", Tensor=Tensor, _C=raw, cuda=SimpleNamespace(current_stream=stream))
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(machine, "launcher_of", lambda instance, ordinal: launcher)
    monkeypatch.setattr(machine, "device", lambda ordinal: place)
    encode = lambda parameter, info: info.pointer.to_bytes(8, "little") + bytes(120)
    monkeypatch.setattr("prism.runtime.tensor_maps.encode", encode)
    monkeypatch.setattr("prism.host.memory.working", lambda info, stream: memoryview(b""))
    for module in ("prism.runtime.device", "prism.runtime.launch"):
        monkeypatch.setattr(f"{module}.driver", lambda: found)
    monkeypatch.setattr(launch, "current_device", lambda: 0)
    monkeypatch.setattr("prism.runtime.device.count", lambda: 1)
    monkeypatch.setattr(extended_launch, "launch_function", lambda: found.launch)
    monkeypatch.setattr(extended_launch, "question", lambda: found.question)
    host.forget()
    yield found
    host.forget()


@pytest.fixture
def described(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The arguments that are looked at closely: none in a warm call."""
    seen: list[str] = []
    describe = arguments.describe
    monkeypatch.setattr(arguments, "describe", lambda x, name="": seen.append(name) or describe(x, name))
    return seen


KINDS = {
    "cupy": lambda i, shape: Array(1 << 40 | i << 20, shape),
    "torch": lambda i, shape: Tensor(1 << 40 | i << 20, shape),
    "weights": lambda i, shape: (Parameter if i == 1 else Tensor)(1 << 40 | i << 20, shape),
}


@pytest.mark.parametrize("call", [lib.hgemm, lib.matmul])
@pytest.mark.parametrize("kind", KINDS)
def test_the_second_call_launches_the_same(gpu: Driver, described: list[str], call, kind: str) -> None:
    a, b, out = (KINDS[kind](i, shape) for i, shape in enumerate(((64, 32), (32, 128), (64, 128))))
    assert call(a, b, out=out) is out
    cold = len(described)
    for stream in (7, 7, 9, 0):
        gpu.stream = stream
        assert call(a, b, out=out) is out
    assert len(described) == cold
    starts = tuple(1 << 40 | i << 20 for i in range(3))
    a, b, out = starts
    assert gpu.launched == [(stream, b, a, out, 128, 64, 32) for stream in (7, 7, 7, 9, 0)], "out^T = b^T a^T"


@pytest.mark.parametrize("call", [lib.hgemm, lib.matmul])
def test_a_plan_of_a_product(gpu: Driver, call) -> None:
    a, b, out = (Array(1 << 40 | i << 20, shape) for i, shape in enumerate(((64, 32), (32, 128), (64, 128))))
    call(a, b, out=out)
    plan = lib.plan(call, a, b, out=out)
    assert plan() is out and plan(stream=5) is out
    assert len(set(launch[1:] for launch in gpu.launched)) == 1 and [one[0] for one in gpu.launched] == [7, 7, 7, 5]
    other = Array(5 << 40, (64, 128))
    assert plan(a, b, other) is other and gpu.launched[-1][3] == 5 << 40
    with pytest.raises(ValueError, match="`b` has shape"):
        plan(a, Array(6 << 40, (32, 64)), other)


def test_a_plan_of_a_product_without_a_result_keeps_its_own(gpu: Driver) -> None:
    plan = lib.plan(lib.hgemm, Array(1 << 40, (64, 64)), Array(2 << 40, (64, 64)))
    assert plan() is plan() and len(gpu.launched) == 3 and len(set(gpu.launched)) == 1


def test_a_plan_of_a_product_on_the_host() -> None:
    a, b, out = np.eye(4, dtype=np.float32), np.arange(16, dtype=np.float32).reshape(4, 4), np.zeros((4, 4), np.float32)
    for function in (lib.sgemm, lib.matmul):
        plan = lib.plan(function, a, b, out=out)
        b += 1
        assert plan() is out and np.array_equal(out, b)
        other = np.zeros((4, 4), np.float32)
        assert plan(a, b, other) is other and np.array_equal(other, b)


def test_what_tells_calls_apart(gpu: Driver, described: list[str]) -> None:
    """Memory, shape, strides, dtype, device, and what else is asked for; a negated view of the same memory is refused."""
    a, b, out = Array(1 << 40, (64, 64)), Array(2 << 40, (64, 64)), Array(3 << 40, (64, 64))
    lib.hgemm(a, b, out=out)
    for x, y, z, more in (
        (Array(1 << 40, (32, 64)), b, Array(3 << 40, (32, 64)), {}),
        (a, Array(2 << 40, (64, 64), strides=(2, 128)), out, {}),
        (a, b, out, {"alpha": 2.0}),
        (a, b, out, {"bias": b[0].reshape((1, 64))}),
        (a, b, out, {"scale_a": Array(5 << 40, (64,), "float32")}),
        (a, b, out, {"scale_b": Array(5 << 40, (64,), "float32")}),
        (a, b, Array(3 << 40, (64, 64), "float32"), {}),
    ):
        before = len(described)
        lib.hgemm(x, y, out=z, **more)
        cold = len(described)
        assert cold > before
        lib.hgemm(x, y, out=z, **more)
        assert len(described) == cold
    lib.hgemm(a, b, out=out, stream=5)
    assert gpu.launched[-1][0] == 5 and len(described) == cold
    other, third = Array(4 << 40, (64, 64)), Array(5 << 40, (64, 64))
    for x, z in ((other, out), (a, other), (a, third), (a, out)):  # tensor maps are of other memory
        lib.hgemm(x, b, out=z)
        assert set(gpu.launched[-1][1:4]) == {x.data.ptr, 2 << 40, z.data.ptr} and len(described) == cold
    lib.hgemm(a, b, out=Array((4 << 40) + 8, (64, 64)))
    assert len(described) > cold, "an address that tensor copies don't take"
    plain = [Tensor(i << 40, (64, 64)) for i in range(1, 4)]
    lib.hgemm(*plain[:2], out=plain[2])
    with pytest.raises(TypeError, match="not plain memory"):
        lib.hgemm(Tensor(1 << 40, (64, 64), negative=True), plain[1], out=plain[2])


@pytest.mark.parametrize("call", [lib.hgemm, lib.matmul])
def test_results_of_the_same_shape_are_found_again(gpu: Driver, described: list[str], call) -> None:
    """New results have other memory, which a call is kept by; the library gives the same again soon."""
    a, b = Array(1 << 40, (64, 64)), Array(2 << 40, (64, 64))
    for _ in range(2):
        assert call(a, b).shape == (64, 64)
    cold = len(described)
    found = call(a, b)
    assert len(described) == cold and (found.shape, found.dtype.name) == ((64, 64), "float16")


def test_a_batch_is_one_launch_where_it_is_one_product(gpu: Driver, described: list[str]) -> None:
    starts = (1 << 40, 2 << 40, 3 << 40)
    a, out = Array(starts[0], (2, 3, 64, 32)), Array(starts[2], (2, 3, 64, 128))
    for b in (Array(starts[1], (32, 128)), Array(starts[1], (1, 32, 128))):
        for _ in range(2):
            lib.hgemm(a, b, out=out)
        assert gpu.launched == [(7, starts[1], starts[0], starts[2], 128, 6 * 64, 32)] * 2
        gpu.launched.clear()
    apart = Array(starts[0], (2, 3, 64, 32), strides=(4 * 4096, 4096, 64, 2))
    for _ in range(2):
        lib.matmul(apart, b, out=out)
        cold = len(described)
    lib.matmul(apart, b, out=out)
    assert len(described) == cold
    places = [
        (starts[0] + 4 * 4096 * i + 4096 * j, starts[2] + 64 * 256 * (3 * i + j)) for i in range(2) for j in range(3)
    ]
    assert gpu.launched == [(7, starts[1], x, z, 128, 64, 32) for x, z in places] * 3


@pytest.mark.parametrize("call", [lib.hgemm, lib.matmul])
@pytest.mark.parametrize("a_batch, b_batch", [((3,), (3,)), ((2, 3), (2, 3)), ((1,), (3,)), ((), (2, 3))])
def test_a_batch_of_matrices_below_each_other_is_one_launch(
    gpu: Driver, described: list[str], call, a_batch: tuple[int, ...], b_batch: tuple[int, ...]
) -> None:
    a, b, out = (
        Array(1 << 40, (*a_batch, 64, 128)),
        Array(2 << 40, (*b_batch, 128, 72)),
        Array(3 << 40, (*b_batch, 64, 72)),
    )
    call(a, b, out=out)
    cold = len(described)
    call(a, b, out=out)
    assert len(described) == cold
    assert gpu.launched == [(7, 1 << 40, 2 << 40, 3 << 40, int(np.prod(b_batch)) * 64, 72, 128)] * 2


def test_a_batch_whose_steps_would_be_of_two_products_is_a_launch_each(gpu: Driver) -> None:
    """Where K lies outside, 96 are a step of 64 and one of 32, behind which the next product's rows lie."""
    a, out = Array(1 << 40, (3, 64, 96)), Array(3 << 40, (3, 64, 72))
    lib.hgemm(a, Array(2 << 40, (3, 96, 72)), out=out)
    assert len(gpu.launched) == 3
    lib.hgemm(a, Array(2 << 40, (3, 96, 72), strides=(72 * 192, 2, 192)), out=out)
    assert len(gpu.launched) == 4


def test_a_batch_of_two_operands(gpu: Driver) -> None:
    """Of 32 of K, which is half a step."""
    a, b, out = Array(1 << 40, (3, 64, 32)), Array(2 << 40, (3, 32, 128)), Array(3 << 40, (3, 64, 128))
    for _ in range(3):
        lib.matmul(a, b, out=out)
    each = [(7, (2 << 40) + i * 8192, (1 << 40) + i * 4096, (3 << 40) + i * 16384, 128, 64, 32) for i in range(3)]
    assert gpu.launched == each * 3


def test_the_driver_refuses(gpu: Driver) -> None:
    a, b, out = Array(1 << 40, (64, 64)), Array(2 << 40, (64, 64)), Array(3 << 40, (64, 64))
    for _ in range(2):
        lib.hgemm(a, b, out=out)
    gpu.statuses = [201]  # no context in this thread: the longer way makes one current
    lib.hgemm(a, b, out=out)
    assert len(gpu.launched) == 3
    gpu.statuses = [700, 700]
    with pytest.raises(RuntimeError, match="launching `hgemm`"):
        lib.hgemm(a, b, out=out)


def test_a_captured_call_asks_what_it_follows(gpu: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    launcher = Launcher(replace(ENTRY, programmatic=True), gpu.loaded)
    monkeypatch.setattr(machine, "launcher_of", lambda instance, ordinal: launcher)
    asked: list[int] = []
    a, b, out = Array(1 << 40, (64, 64)), Array(2 << 40, (64, 64)), Array(3 << 40, (64, 64))
    for early in (1, 0, 1, 0):
        monkeypatch.setattr(launch, "follows", lambda stream, early=early: asked.append(stream) or early)
        for captured in (0, 1, 0, 1):
            gpu.captured = captured
            lib.hgemm(a, b, out=out)
            assert gpu.early[-1] == (early if captured else 1)
    assert len(gpu.launched) == 16 and len(set(gpu.launched)) == 1 and asked == 8 * [7]


@pytest.mark.parametrize(("k", "early"), [(5120, 0), (512, 1), (64, 1)])
def test_where_early_blocks_are_in_the_way_a_product_is_launched_late(
    gpu: Driver, monkeypatch: pytest.MonkeyPatch, k: int, early: int
) -> None:
    launcher = Launcher(replace(ENTRY, programmatic=True), gpu.loaded)
    monkeypatch.setattr(machine, "launcher_of", lambda instance, ordinal: launcher)
    a, b, out = Array(1 << 40, (64, k)), Array(2 << 40, (k, 5120)), Array(3 << 40, (64, 5120))
    for _ in range(3):
        lib.hgemm(a, b, out=out)
    assert gpu.early == 3 * [early] and len(set(gpu.launched)) == 1


def test_calls_are_forgotten_when_their_launches_are_too_many(gpu: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "_MOST", 3)
    for number in range(1, 6):
        lib.hgemm(Array(1 << 40, (64 * number, 64)), Array(2 << 40, (64, 64)), out=Array(3 << 40, (64 * number, 64)))
        assert len(host._known) == len(repeat._kept) == (number - 1) % 3 + 1
    lib.hgemm(Array(1 << 50, (3, 64, 32)), Array(2 << 40, (3, 32, 64)), out=Array(3 << 40, (3, 64, 64)))
    assert len(host._known) == 1 and host._launches == [3]
    lib.hgemm(Array(1 << 50, (4, 64, 32)), Array(2 << 40, (4, 32, 64)), out=Array(3 << 40, (4, 64, 64)))
    assert len(host._known) == 1 and host._launches == [3]


@pytest.mark.parametrize("name", ["bias", "scale_a"])
def test_a_copy_of_what_lies_in_another_operand_is_not_kept(gpu: Driver, name: str) -> None:
    """A column of `c` begins where `c` does, and has gaps: it is copied each time."""
    a, b, c = (describe(Array(i << 40, (16, 16)), "x") for i in (1, 2, 3))
    column = Array(3 << 40, (16, 1), "float16" if name == "bias" else "float32", strides=(32, 2))
    other = Array(4 << 40, (16, 1), column.dtype)
    decide = lambda x: decide_hgemm({"a": a, "b": b, "c": c, name: describe(x)}, None, machine.Gpu(0), beta=1.0)
    assert decide(column).copied == (name,) and decide(other).copied == ()
