"""`prism.lib.plan`: what it launches again, on which arrays, and what it refuses; CUDA's part is stood in for."""

from __future__ import annotations

import copy
import doctest
import importlib
import pickle
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from prism import lib
from prism.host import memory
from prism.lang import float32, grid, group, id, int32, partition, prism, ptr, requires, thread
from tests.host.stand_ins import Array, Gpu, Launcher, array, stand_in


@prism("global")
@requires(grid[1], thread[32])
def doubled(x: ptr(float32) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(x, thread[1], i) as mine, group(thread[1]):
        mine[0] = 2 * mine[0]


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gpu]:
    with stand_in(monkeypatch) as found:
        yield found


CALLS = [
    (lib.scan, (), {}, (5000,), "float32"),
    (lib.scan, ("maximum",), {"axis": 0, "reverse": True}, (5000,), "float32"),
    (lib.scan, (), {"initial": 3, "exclusive": True}, (5000,), "float32"),
    (lib.cumsum, (0,), {}, (5000,), "float32"),
    (lib.sum, (), {}, (), "float32"),
    (lib.max, (), {"initial": 2}, (), "float32"),
    (lib.any, (), {}, (), "bool"),
    (lib.reduce, ("minimum",), {"keepdims": True}, (1,), "float32"),
]


@pytest.mark.parametrize(("function", "given", "options", "shape", "kind"), CALLS)
def test_a_plan_launches_what_the_call_did(
    gpu: Gpu, function: Any, given: Any, options: Any, shape: Any, kind: str
) -> None:
    x, out = array(5000), array(shape, kind)
    plan = lib.plan(function, x, *given, out=out, **options)
    assert gpu.addresses == [(77, x.data.ptr, out.data.ptr)]
    assert plan() is out and gpu.addresses[1:] == gpu.addresses[:1]
    y, other = array(5000), array(shape, kind)
    gpu.stream = 78
    assert plan(y, other) is other and gpu.addresses[2:] == [(78, y.data.ptr, other.data.ptr)]
    plan(stream=5)
    plan(y, other, stream=6)
    assert gpu.addresses[3:] == [(5, x.data.ptr, out.data.ptr), (6, y.data.ptr, other.data.ptr)]


def test_plans_of_several_arrays(gpu: Gpu) -> None:
    """Of segments and keys: the arrays in the call's order, the result behind them."""
    x, offsets, out = array(5000), array(100, "int32"), array(99)
    plan = lib.plan(lib.segmented_reduce, x, offsets, out=out)
    y, other = array(5000), array(99)
    assert plan() is out and plan(y, offsets, other) is other
    (_, _, _, _, first), (_, _, _, _, second), (_, _, _, _, third) = gpu.launched
    assert first == second and first[:3] == (x.data.ptr, out.data.ptr, offsets.data.ptr)
    assert third[:3] == (y.data.ptr, other.data.ptr, offsets.data.ptr) and third[3] == offsets.data.ptr + 4
    with pytest.raises(TypeError, match="all of them: x, offsets, out"):
        plan(y, other)
    with pytest.raises(ValueError, match="`out` overlaps `x`"):
        plan(y, offsets, Array(y.kept[:99]))


def test_a_plan_adds_to_what_its_result_holds(gpu: Gpu) -> None:
    """Then `c` is the result, and can be no other array: nothing is copied."""
    a, b, c, other = (array((64, 64)) for _ in range(4))
    plan = lib.plan(lib.sgemm, a, b, c, beta=1.0, out=c, variant="warps")
    assert plan() is c and plan(a, b, other, other) is other
    with pytest.raises(ValueError, match="`out` must be `c`, as it was"):
        plan(a, b, c, other)
    for out in (None, other):
        with pytest.raises(ValueError, match="no plan can be made of it"):
            lib.plan(lib.sgemm, a, b, c, beta=1.0, variant="warps", out=out)


def test_a_plan_without_out_keeps_its_results(gpu: Gpu) -> None:
    keys, values = array(5000, "int32"), array(5000)
    plan = lib.plan(lib.reduce_by_key, keys, values, count=True)
    again = plan()
    assert len(gpu.launched) == 2 and [one.shape for one in again] == [(5000,), (5000,), (1,)]
    assert gpu.launched[0] == gpu.launched[1] and gpu.launched[0][4][2] == again[0].data.ptr
    with pytest.raises(TypeError, match="a plan takes no arrays"):
        plan(keys, values)


def test_no_plan_is_made_of_a_call_that_waits(gpu: Gpu) -> None:
    """Made again, it would give as many results as the first time, whatever there are."""
    keys, values = array(5000, "int32"), array(5000)
    with pytest.raises(ValueError, match="waits for how many results there are"):
        lib.plan(lib.reduce_by_key, keys, values)
    with pytest.raises(ValueError, match="waits for how many results there are"):
        lib.plan(lib.reduce_by_key, np.zeros(9, np.int32), np.zeros(9))


def test_a_plan_takes_arrays_in_the_function_s_order(gpu: Gpu) -> None:
    """Also where two are alike, so that nothing else tells which is which."""
    keys, values, out = (array(5000, "int32") for _ in range(3))
    plan = lib.plan(lib.scan_by_key, keys, values, out=out)
    others = [array(5000, "int32") for _ in range(3)]
    assert plan(*others) is others[2]
    first, second = (launch[4] for launch in gpu.launched)
    moved = {a.data.ptr: b.data.ptr for a, b in zip((keys, values, out), others, strict=True)}
    assert second == tuple(moved.get(value, value) for value in first) and first != second


def test_a_plan_is_made_anew_of_a_call_that_was_made_before(gpu: Gpu) -> None:
    x, out = array(5000), array(5000)
    lib.scan(x, out=out)
    lib.scan(x, out=out)
    lib.plan(lib.scan, x, out=out)()
    assert len(gpu.launched) == 4


def test_arrays_that_are_not_like_the_plans(gpu: Gpu) -> None:
    x, out = array(5000), array(5000)
    plan = lib.plan(lib.scan, x, out=out)
    refused = [
        (array(4999), array(4999), ValueError, "`x` has shape"),
        (array(5000, "int32"), out, TypeError, "`x` has dtype int32"),
        (x, array(5000, "float64"), TypeError, "`out` has dtype"),
        (Array(array(10_000).kept[::2]), out, ValueError, "`x` has strides"),
        (array(5000, shift=1), out, ValueError, "`x` is aligned otherwise"),
        (x, array(0), ValueError, "`out` has shape"),
        (np.zeros(5000, np.float32), out, TypeError, "`x` has library numpy"),
        (x, None, TypeError, "`out` must be an array"),
        (None, out, TypeError, "`x` must be an array"),
    ]
    for y, other, kind, fault in refused:
        with pytest.raises(kind, match=fault):
            plan(y, other)
    room = array(5064).kept
    with pytest.raises(ValueError, match="`out` overlaps `x`"):
        plan(Array(room[:5000]), Array(room[64:]))
    assert len(gpu.launched) == 1
    plan(x, x)  # in place
    sums = lib.plan(lib.sum, x, out=array(()))
    with pytest.raises(ValueError, match="`out` overlaps `x`"):
        sums(x, Array(x.kept[16:17].reshape(())))


def test_what_no_plan_is_made_of(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    for function in (np.cumsum, 3):
        with pytest.raises(TypeError, match="must be a function of prism.lib"):
            lib.plan(function, array(10), out=array(10))
    strided = Array(array((4, 2)).kept[:, 0])
    for x, out in ((array((0, 4)), array((4,))), (array((10, 4)), strided)):  # nothing to launch; a copy after it
        with pytest.raises(ValueError, match="no plan can be made of it"):
            lib.plan(lib.sum, x, axis=0, out=out)
    with pytest.raises(TypeError, match="`out` must be of float32"):
        lib.plan(lib.scan, array(10), out=array(10, "int32"))


@pytest.mark.parametrize("kind", ["float32", "complex128"])
def test_an_array_that_begins_inside_of_an_element_is_copied(
    gpu: Gpu, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Read where it lies it would end the program: misaligned addresses are an error of the whole context."""
    half = np.dtype(kind).itemsize // 2
    inside = Array(array(8200, "uint8").kept[half:][: 500 * 2 * half].view(kind))
    copies: list[Array] = []

    def empty(info: Any, size: Any, dtype: Any) -> Array:
        copies.append(array(size, kind))
        return copies[-1]

    monkeypatch.setattr(memory, "empty", empty)
    inside.kept[:] = 3
    lib.scan(inside, out=array(500, kind))
    assert gpu.addresses[-1][1] == copies[-1].data.ptr and (copies[-1].kept == 3).all()
    with pytest.raises(ValueError, match=f"`out` must be aligned to {2 * half} bytes"):
        lib.scan(array(500, kind), out=inside)


def test_a_kernel_that_is_not_ready_is_refused_inside_a_capture(gpu: Gpu) -> None:
    """Before anything is compiled, loaded or allocated: what would be asked of the driver would end the capture."""
    x, out = array(5000), array(5000)
    plan = lib.plan(lib.scan, x, out=out)
    total = lib.plan(lib.sum, x, out=array(()))
    gpu.capturing = True
    plan()
    total()
    lib.scan(x, out=out)
    before = len(gpu.launched)
    for call in (
        lambda: lib.scan(x, "maximum", out=out),
        lambda: lib.sum(array(70, "int32"), out=array((), "int32")),
        lambda: lib.plan(lib.cumsum, array(70, "int32"), out=array(70, "int32")),
    ):
        with pytest.raises(RuntimeError, match="a CUDA graph is being captured"):
            call()
    assert len(gpu.launched) == before
    lib.sum(
        x[:-1], out=array(5)[1:2].reshape(())
    )  # another length, and `out` at another address: a kernel that is ready
    assert len(gpu.launched) == before + 1
    gpu.capturing = False
    lib.scan(x, "maximum", out=out)
    assert len(gpu.launched) == before + 2


def test_a_kernel_of_ones_own_that_is_not_ready(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    x = array(64)
    monkeypatch.setattr(
        "prism.runtime.device.device", lambda ordinal: SimpleNamespace(arch="sm_90a", shared_limit=232448)
    )
    monkeypatch.setattr(
        "prism.runtime.launch.prepare", lambda entry, ordinal: Launcher(lambda *given: gpu.launched.append(given))
    )
    gpu.capturing = True
    with pytest.raises(RuntimeError, match="`doubled` is not ready, and a CUDA graph is being captured"):
        doubled[2, 32](x)
    assert not gpu.launched
    gpu.capturing = False
    doubled[2, 32](x)
    gpu.capturing = True
    doubled[2, 32](x)
    assert len(gpu.launched) == 2


def test_on_numpy_arrays_there_is_no_stream() -> None:
    x, y = np.arange(5), np.empty(5, int)
    again = lib.plan(lib.cumsum, x, out=y)
    for call in (
        lambda: lib.plan(lib.cumsum, x, out=y, stream=1), lambda: again(stream=1), lambda: again(x, y, stream=1)
    ):  # fmt: skip
        with pytest.raises(ValueError, match="`stream` is for arrays on a GPU"):
            call()


def test_on_numpy_arrays_a_plan_is_the_call() -> None:
    x, out = np.arange(5), np.empty(5, int)
    plan = lib.plan(lib.cumsum, x, out=out)
    assert out.tolist() == [0, 1, 3, 6, 10]
    x[:] = 1
    assert plan() is out and out.tolist() == [1, 2, 3, 4, 5]
    other = np.empty(5, int)
    assert plan(np.arange(5), other) is other and other.tolist() == [0, 1, 3, 6, 10]
    with pytest.raises(ValueError, match="`x` has shape"):
        plan(np.arange(6), other)


def test_a_plan_takes_each_array_in_its_place() -> None:
    """Also where it was made of one array twice; of what is no array itself it takes no other."""
    x, out = np.arange(5.0), np.zeros(10)
    a, b = np.array([1.0, 4, 6, 7, 9]), np.array([2.0, 3, 5, 8, 10])
    plan = lib.plan(lib.merge, x, x, out=out)
    assert plan(a, b, np.zeros(10)).tolist() == list(range(1, 11))
    assert plan().tolist() == sorted([*x, *x])
    listed = lib.plan(lib.cumsum, [1.0, 2, 3], out=np.zeros(3))
    assert listed().tolist() == [1, 3, 6]
    with pytest.raises(TypeError, match="the plan takes no others"):
        listed(np.ones(3), np.zeros(3))
    with pytest.raises(TypeError, match="`out` must be left out"):
        lib.plan(lib.histogram, x, bins=3, range=(0, 3), out=(np.zeros(3, int), np.zeros(4)))


@pytest.mark.parametrize("way", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_plan_is_not_copied(way: Callable[[Any], Any]) -> None:
    """It would write where the first one does, and give its own array."""
    with pytest.raises(TypeError, match="is not copied or pickled"):
        way(lib.plan(lib.cumsum, np.arange(5), out=np.zeros(5, int)))


def test_examples() -> None:
    module = importlib.import_module("prism.host.plans")
    assert doctest.testmod(module).failed == 0
