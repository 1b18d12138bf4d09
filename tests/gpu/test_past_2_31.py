"""Every host function past 2^31 elements, in each position: the length, the rows, what lies beside, the segments.

Arrays are made on the GPU, of a pattern whose result is known without another library's kernels, or by CuPy on parts of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import prism
from tests.lib import long

cupy = pytest.importorskip("cupy")
pytestmark = pytest.mark.slow

LONG = 2**31 + 1023
PART = 1 << 22
ROOM = 78 * 10**9


@pytest.fixture(autouse=True)
def _room() -> Iterator[None]:
    """Leave no memory behind: the next test takes all there is."""
    pool = cupy.get_default_memory_pool()
    pool.free_all_blocks()
    yield
    pool.free_all_blocks()


def pattern(size: int, dtype: Any = np.int8) -> Any:
    """0, 1, 2 ... modulo 7, from -3 on: of a prime period, so that no power of two of elements is like another."""
    found = cupy.empty(size, dtype)
    for first in range(0, size, 1 << 28):
        count = min(1 << 28, size - first)
        part = cupy.arange(count, dtype=np.int32)
        part += first % 7
        part %= 7
        part -= 3
        found[first : first + count] = part.astype(dtype)
        del part
    return found


def total(n: int) -> int:
    """The sum of the pattern's first `n` elements: a whole period has 0."""
    return sum((k % 7) - 3 for k in range(n - n % 7, n))


def ends(size: int) -> Iterator[slice]:
    """The parts that are compared: both ends, and what stands around multiples of 2^31 and 2^32."""
    for middle in (0, 2**31, 2**32, size):
        first, last = max(0, middle - PART // 2), min(size, middle + PART // 2)
        if first < last:
            yield slice(first, last)


SHAPES = {
    "rows": (LONG, 2),
    "inner": (2, LONG),
    "more rows": (2**32 + 77, 2),
    "length": (1, LONG),
    "wide": (2**30 + 5, 16),
}
ALONG = {
    "sum": np.int64,
    "max": np.int8,
    "min": np.int8,
    "argmax": np.int64,
    "argmin": np.int64,
    "any": bool,
    "count_nonzero": np.int64,
}


@pytest.mark.parametrize("where", SHAPES)
@pytest.mark.parametrize("name", ALONG)
@pytest.mark.parametrize("axis", [0, 1])
def test_along_an_axis(where: str, name: str, axis: int) -> None:
    shape = SHAPES[where]
    results = shape[1 - axis]
    assert shape[0] * shape[1] + results * np.dtype(ALONG[name]).itemsize < ROOM, (
        "the shapes are chosen so that all fit"
    )
    x = pattern(shape[0] * shape[1]).reshape(shape)
    found = cupy.full(results, 77, ALONG[name]) if ALONG[name] is not bool else cupy.zeros(results, bool)
    getattr(prism.lib, name)(x, axis=axis, out=found)
    if shape[axis] > 1 << 20:
        wanted = [of_long(x[k] if axis == 1 else x[:, k], name) for k in range(results)]
        assert found.get().tolist() == wanted
        return
    for part in ends(results):
        given = x[part] if axis == 1 else x[:, part]
        assert cupy.array_equal(found[part], getattr(cupy, name)(given, axis=axis)), (where, name, part)


def of_long(x: Any, name: str) -> int | bool:
    """What a function gives of a long row or column: of a period, in any order of which all seven numbers are."""
    counts = {int(value): len(range(first, len(x), 7)) for first, value in enumerate(x[:7])}
    assert sorted(counts) == list(range(-3, 4)), "a stride that is no multiple of seven"
    match name:
        case "sum":
            return sum(value * count for value, count in counts.items())
        case "count_nonzero":
            return len(x) - counts[0]
        case "any":
            return True
        case "max" | "min":
            return 3 if name == "max" else -3
        case _:
            return [int(value) for value in x[:7]].index(3 if name == "argmax" else -3)


@pytest.mark.parametrize("size", [LONG, 2**32 + 77])
def test_whole_arrays(size: int) -> None:
    x = pattern(size)
    assert int(prism.lib.sum(x)) == total(size)
    assert int(prism.lib.count_nonzero(x)) == size - len(range(3, size, 7))
    x[size - 5] = 100
    x[size - 3] = -100
    assert int(prism.lib.argmax(x)) == size - 5 and int(prism.lib.argmin(x)) == size - 3
    assert int(prism.lib.max(x)) == 100 and int(prism.lib.min(x)) == -100
    assert int(prism.lib.reduce(x, "bitwise_or")) == -1


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("size", [LONG, 2**32 + 77])
def test_scans(size: int, reverse: bool) -> None:
    x = pattern(size)
    y = prism.lib.scan(x, "add", reverse=reverse)
    for part in ends(size):
        before = total(size) - total(part.stop) if reverse else total(part.start)
        given = x[part][::-1] if reverse else x[part]
        wanted = (cupy.cumsum(given, dtype=np.int64) + before).astype(np.int8)
        assert cupy.array_equal(y[part], wanted[::-1] if reverse else wanted), part


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("where", SHAPES)
def test_cumulative(where: str, axis: int) -> None:
    shape = SHAPES[where]
    x = pattern(shape[0] * shape[1]).reshape(shape)
    y = prism.lib.cumsum(x, axis=axis, dtype=np.int8)
    for part in ends(shape[1 - axis]):
        given, found = (x[part], y[part]) if axis == 1 else (x[:, part], y[:, part])
        if given.size <= 64 * PART:
            assert cupy.array_equal(found, cupy.cumsum(given, axis=axis, dtype=np.int64).astype(np.int8))
        else:
            last = found[..., -1:] if axis == 1 else found[-1:]
            sums = cupy.sum(given, axis=axis, dtype=np.int64, keepdims=True).astype(np.int8)
            assert cupy.array_equal(last, sums)


def test_segments_of_a_long_array() -> None:
    x, each = pattern(LONG), 1 << 20
    starts = cupy.arange(0, LONG, each, dtype=np.int64)
    offsets = cupy.concatenate([starts, cupy.asarray([LONG])])
    wanted = [total(min(LONG, s + each)) - total(s) for s in range(0, LONG, each)]
    assert prism.lib.segmented_reduce(x, offsets, "add", dtype=np.int64).get().tolist() == wanted
    y = prism.lib.segmented_scan(x, starts, "add")
    for part in ends(LONG):
        first = part.start - part.start % each
        given = cupy.cumsum(x[first : first + each], dtype=np.int64)
        stop = min(part.stop, first + each)
        assert cupy.array_equal(y[part.start : stop], given[part.start - first : stop - first].astype(np.int8))


def test_many_segments() -> None:
    """2^31 and more of them, of one element each: 16 GB of offsets."""
    x = pattern(LONG)
    offsets = cupy.arange(LONG + 1, dtype=np.int64)
    y = prism.lib.segmented_reduce(x, offsets, "add")
    assert all(cupy.array_equal(y[part], x[part]) for part in ends(LONG))


def test_runs() -> None:
    keys, values = pattern(LONG), cupy.ones(LONG, np.int8)  # every key is a run
    unique, sums, count = prism.lib.reduce_by_key(keys, values, count=True)
    assert int(count[0]) == LONG
    assert all(cupy.array_equal(unique[part], keys[part]) for part in ends(LONG))
    assert all(bool((sums[part] == 1).all()) for part in ends(LONG))
    del unique, sums
    y = prism.lib.scan_by_key(keys, values)
    assert all(bool((y[part] == 1).all()) for part in ends(LONG))


PRODUCTS: dict[str, tuple[Callable[..., Any], Any, int, int, int]] = {
    "hgemm, result": (prism.lib.hgemm, np.float16, 65536, 32776, 64),
    "hgemm, a": (prism.lib.hgemm, np.float16, 2**25 + 8, 64, 64),
    "hgemm, k": (prism.lib.hgemm, np.float16, 64, 64, 2**25 + 64),
    "sgemm, result": (prism.lib.sgemm, np.float32, 65536, 32772, 16),
    "sgemm, a": (prism.lib.sgemm, np.float32, 2**27 + 4, 16, 16),
}


@pytest.mark.parametrize("what", PRODUCTS)
def test_products(what: str) -> None:
    """Matrices of 2^31 elements and more: operands, or the result; compared at the corners."""
    product, dtype, m, n, k = PRODUCTS[what]
    a = (cupy.arange(m, dtype=np.int32)[:, None] % 5 - 2).astype(dtype) * cupy.ones((1, k), dtype)
    b = cupy.ones((k, 1), dtype) * (cupy.arange(n, dtype=np.int32)[None] % 3 - 1).astype(dtype) / dtype(max(1, k // 16))
    c = product(a, b)
    for rows in (slice(0, 300), slice(m // 2 - 150, m // 2 + 150), slice(m - 300, m)):
        rows = slice(max(0, rows.start), rows.stop)
        wanted = a[rows].astype(np.float32) @ b.astype(np.float32)
        assert bool(cupy.allclose(c[rows].astype(np.float32), wanted, rtol=1e-2, atol=1e-2)), (what, rows)


@pytest.mark.parametrize("check", long.CHECKS, ids=lambda check: check.__name__)
def test_bytes(check: Callable[[Any, int], None]) -> None:
    """What is in one long array: tests/lib/long.py."""
    check(cupy, LONG)
