"""Calls of reductions on a GPU that are like an earlier one, with CUDA's part stood in for: what is launched, and when not."""

import contextlib
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from prism import lib
from prism.lib import reduce_calls, reduce_device
from prism.runtime import arrays, device
from tests.lib.stand_ins import Launcher


class Array:
    """A NumPy array that passes for one of CuPy's."""

    def __init__(self, x: np.ndarray) -> None:
        self.dtype, self.shape, self.strides, self.kept = x.dtype, x.shape, x.strides, x
        self.data = SimpleNamespace(ptr=x.__array_interface__["data"][0], device_id=0)


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is launched: blocks, threads, stream and values."""
    found: list[Any] = []

    def launcher(program: Any, ordinal: int) -> Any:
        return Launcher(lambda *given: found.append((program, *given)))

    current = SimpleNamespace(ptr=77)
    monkeypatch.setitem(arrays._DESCRIBERS, Array, arrays._cupy)
    cuda = SimpleNamespace(get_current_stream=lambda device: current, runtime=SimpleNamespace(getDevice=lambda: 0))
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda))
    monkeypatch.setattr(reduce_device, "_launcher", launcher)
    monkeypatch.setattr(device, "count", lambda: 1)
    monkeypatch.setattr(reduce_calls, "require_outside", lambda *given: None)
    monkeypatch.setattr(
        reduce_device, "device", lambda ordinal: SimpleNamespace(sm_count=132, capability=(9, 0), arch="sm_90a")
    )
    monkeypatch.setattr(reduce_device, "SCRATCH", SimpleNamespace(get=lambda *given: 1 << 20))
    reduce_calls.forget()
    yield found
    reduce_calls.forget()


def aligned(shape: tuple[int, ...], kind: str, shift: int = 0) -> Any:
    room = np.zeros(int(np.prod(shape)) + 64, kind)
    start = (-room.__array_interface__["data"][0] % 16) // room.itemsize + shift
    return room[start : start + int(np.prod(shape))].reshape(shape)


def test_the_second_call_launches_the_same_on_other_memory(launched, monkeypatch) -> None:
    x, y = Array(aligned((1 << 20,), "float32")), Array(aligned((1 << 20,), "float32"))
    out, other = Array(np.zeros((), np.float32)), Array(np.zeros((), np.float32))
    assert lib.sum(x, out=out) is out
    monkeypatch.setattr(reduce_calls, "describe", None)  # a warm call describes nothing
    assert lib.sum(y, out=other) is other
    (first, second) = launched
    assert first[:4] == second[:4] and first[3] == 77
    assert first[4][:2] == (x.data.ptr, out.data.ptr) and second[4][:2] == (y.data.ptr, other.data.ptr)
    assert first[4][2:] == second[4][2:] and first[4][2] == (1 << 20) + 64 and first[4][3] == 1 << 20


def test_each_difference_is_another_call(launched) -> None:
    x, out = aligned((600, 600), "int32"), Array(np.zeros(600, np.int64))
    lib.sum(Array(x), axis=0, out=out)
    for given, options in [
        (x, {"axis": 1}),
        (x.T, {"axis": 0}),
        (x.view(np.float32), {"axis": 0, "out": Array(np.zeros(600, np.float32))}),
        (aligned((600, 600), "int32", 1), {"axis": 0}),
        (x, {"axis": 0, "initial": 3}),
        (x, {"axis": 0, "keepdims": True, "out": Array(np.zeros((1, 600), np.int64))}),
        (x, {"axis": 0, "dtype": "int32", "out": Array(np.zeros(600, np.int64))}),
    ]:
        before = len(reduce_calls._CALLS)
        lib.sum(Array(given), **{"out": out, **options})
        assert len(reduce_calls._CALLS) == before + 1
    with pytest.raises(TypeError, match="`axis` must be"):
        lib.sum(Array(x), axis=0.0, out=out)  # equal to 0, and no axis


def test_a_result_that_overlaps_is_made_elsewhere(launched, monkeypatch) -> None:
    x = aligned((600, 600), "int64")
    lib.sum(Array(x), axis=0, out=Array(np.zeros(600, np.int64)))
    before, copies = len(launched), []
    made, target = Array(np.zeros(600, np.int64)), Array(x[3])
    monkeypatch.setattr(reduce_calls.result_arrays, "working", lambda *given: contextlib.nullcontext())
    monkeypatch.setattr(reduce_calls.result_arrays, "empty", lambda *given: made)
    monkeypatch.setattr(Array, "__setitem__", lambda *given: copies.append(given), raising=False)
    assert lib.sum(Array(x), axis=0, out=target) is target
    assert len(launched) == 2 * before and launched[-1][4][1] == made.data.ptr
    assert copies == [(target, ..., made)]


def test_two_launches_where_an_axis_is_cut(launched) -> None:
    x, out = Array(aligned((1 << 20, 4), "float32")), Array(np.zeros(4, np.float32))
    for _ in range(2):
        lib.sum(x, axis=0, out=out)
    one, two, *again = launched
    assert [one, two] == again
    assert one[4][1] == two[4][0] == 1 << 20 and two[4][1] == out.data.ptr  # the parts, in scratch memory
