"""Calls on a GPU with CUDA's part stood in for: what is launched, what is decided anew, and what is copied."""

import inspect
from collections.abc import Iterator

import numpy as np
import pytest

from prism import lib
from prism.host import arguments, call
from tests.host.stand_ins import WORDS, Array, Gpu, array, stand_in


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gpu]:
    with stand_in(monkeypatch) as found:
        yield found


def test_the_second_call_launches_the_same_on_other_memory(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = array(1 << 20), array(1 << 20)
    out, other = array(()), array(())
    assert lib.sum(x, out=out) is out
    monkeypatch.setattr(arguments, "describe", None)  # a warm call describes nothing
    assert lib.sum(y, out=other) is other
    first, second = gpu.launched
    assert first[:4] == second[:4] and first[3] == 77
    assert first[4][:2] == (x.data.ptr, out.data.ptr) and second[4][:2] == (y.data.ptr, other.data.ptr)
    assert first[4][2:] == second[4][2:] and first[4][2] == WORDS + 64 and first[4][3] == WORDS


def test_each_difference_is_another_call(gpu: Gpu) -> None:
    x, out = array((600, 600), "int32"), array(600, "int64")
    lib.sum(x, axis=0, out=out)
    for given, options in [
        (x, {"axis": 1}),
        (x.transpose((1, 0)), {"axis": 0}),
        (Array(x.kept.view(np.float32)), {"axis": 0, "out": array(600)}),
        (array((600, 600), "int32", 1), {"axis": 0}),
        (x, {"axis": 0, "initial": 3}),
        (x, {"axis": 0, "keepdims": True, "out": array((1, 600), "int64")}),
        (x, {"axis": 0, "dtype": "int32", "out": array(600, "int64")}),
    ]:
        before = gpu.decided
        for _ in range(2):
            lib.sum(given, **{"out": out, **options})
        assert gpu.decided == before + 1
    lib.sum(x, axis=0, initial=4.0, out=out)  # the plan of 3 does for all numbers
    assert gpu.decided == before + 1
    with pytest.raises(TypeError, match="`axis` must be"):
        lib.sum(x, axis=0.0, out=out)  # equal to 0, and no axis


def test_a_result_that_overlaps_is_made_elsewhere(gpu: Gpu) -> None:
    x = array((600, 600), "int64")
    lib.sum(x, axis=0, out=array(600, "int64"))
    target = x[3]
    for _ in range(2):
        assert lib.sum(x, axis=0, out=target) is target
    assert gpu.decided == 1 and len(gpu.launched) == 3
    assert target.data.ptr not in [values[1] for *_, values in gpu.launched]


def test_a_result_that_is_in_part_the_array_is_made_elsewhere(gpu: Gpu) -> None:
    room = array(5000)
    x, out = Array(room.kept[:4096]), Array(room.kept[16:4112])
    for _ in range(2):
        assert lib.scan(x, out=out) is out
    assert all(values[0] == x.data.ptr != values[1] - 64 for *_, values in gpu.launched)
    lib.scan(x, out=x)
    assert gpu.launched[-1][-1][:2] == (x.data.ptr, x.data.ptr)


@pytest.mark.parametrize("shift", [1, 4])
def test_what_is_made_beside_is_aligned(gpu: Gpu, shift: int) -> None:
    """Where `out` begins is not where the kernel writes: it must not be launched as if it were."""
    room = array(1 << 20)
    x = Array(room.kept[: 1 << 19])
    lib.scan(x, out=array(1 << 19))
    out = Array(room.kept[shift : (1 << 19) + shift])
    assert lib.scan(x, out=out) is out
    first, second = gpu.launched
    assert first[:4] == second[:4] and first[4][2:] == second[4][2:] and second[4][1] % 16 == 0


def test_two_launches_where_an_axis_is_cut(gpu: Gpu) -> None:
    x, out = array((1 << 20, 4)), array(4)
    for _ in range(2):
        lib.sum(x, axis=0, out=out)
    one, two, *again = gpu.launched
    assert [one, two] == again
    assert one[4][1] == two[4][0] == WORDS and two[4][1] == out.data.ptr  # the parts, in scratch memory


@pytest.mark.parametrize("count", [False, True])
def test_what_segments_and_keys_launch(gpu: Gpu, count: bool) -> None:
    """Bits are cleared, then it is marked where segments begin, then scanned; and one launch for runs of keys. Warm too."""
    x, offsets, keys = array(10_000), array(300, "int32"), array(10_000, "int16")
    for _ in range(2):
        assert lib.segmented_scan(x, offsets).shape == (10_000,)
        assert lib.segmented_reduce(x, offsets).shape == (299,)
        assert lib.scan_by_key(keys, x).shape == (10_000,)
        found = lib.reduce_by_key(keys, x, count=count)
        assert len(found) == 2 + count and str(found[0].dtype) == "int16"
    assert gpu.decided == 4 and len(gpu.launched) == 10 and gpu.cleared == [(WORDS, 1252, 77)] * 2
    assert [launch[1:4] for launch in gpu.launched[:3]] == [(2, 256, 77), (2, 256, 77), (38, 256, 77)]


def test_offsets_that_the_result_overwrites(gpu: Gpu) -> None:
    x, offsets = array(500, "int32"), array(101, "int32")
    out = Array(offsets.kept[:100])
    assert lib.segmented_reduce(x, offsets, out=out) is out
    assert gpu.launched[0][4][1] != out.data.ptr


def test_what_was_decided_is_forgotten(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept has an end: then the old goes, for a shape that is never kept could never be captured in a graph."""
    monkeypatch.setattr(call, "_MOST", 3)
    for size in range(1000, 1008):
        lib.scan(array(size), out=array(size))
    assert gpu.decided == 8 and 1 <= len(call._known) <= 3
    call.forget()
    lib.scan(array(1007), out=array(1007))
    assert gpu.decided == 9


def test_what_the_result_holds_before(gpu: Gpu) -> None:
    """It is copied there, unless it is the result; then nothing is decided or copied again."""
    a, b, c, out = (array((64, 64)) for _ in range(4))
    c.kept[...] = 3
    for _ in range(2):
        assert lib.sgemm(a, b, c, beta=1.0, out=out, variant="warps") is out
    assert (out.kept == 3).all() and gpu.decided == 1
    for _ in range(3):
        assert lib.sgemm(a, b, c, beta=1.0, out=c, variant="warps") is c
    assert gpu.decided == 2 and len(gpu.launched) == 5 and (c.kept == 3).all()
    a.kept[...] = 5
    lib.sgemm(a, b, a, beta=1.0, out=a, variant="warps")  # made beside, of a copy
    names = list(inspect.signature(gpu.launched[-1][0].kernel.python).parameters)
    given = dict(zip(names, gpu.launched[-1][-1], strict=True))
    assert given["A"] == a.data.ptr != given["C"] and (a.kept == 5).all()


def test_a_result_with_gaps_that_overlaps_is_made_beside_without(gpu: Gpu) -> None:
    room = array((64, 128))
    a, out = Array(room.kept[:, :64]), Array(room.kept[:, 32:96])
    for _ in range(2):
        assert lib.sgemm(a, array((64, 64)), out=out, variant="warps") is out
    names = list(inspect.signature(gpu.launched[-1][0].kernel.python).parameters)
    for *_, values in gpu.launched:
        given = dict(zip(names, values, strict=True))
        assert (given["rs_a"], given["rs_c"]) == (128, 64)


def test_products_may_be_decided_while_a_graph_is_captured(gpu: Gpu) -> None:
    gpu.capturing = True
    lib.sgemm(array((64, 64)), array((64, 64)), out=array((64, 64)), variant="warps")
    with pytest.raises(RuntimeError, match="this sum is not ready, and a CUDA graph is being captured"):
        lib.sum(array(64), out=array(()))
