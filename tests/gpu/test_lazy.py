"""Lazy arrays on a GPU: every function on them, as on the arrays that they stand for; numbers of one structure, overlaps.

tests/lib/lazy/test_functions.py is the same for NumPy's arrays.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from prism import lib
from prism.host import lazies
from prism.lib import lazy
from prism.lib.cases import Case, cases
from tests.lib.calls import check
from tests.lib.lazy.lazies import LAZIES
from tests.lib.lazy.test_functions import MEMORY
from tests.rarely import rarely

try:
    import cupy
except ImportError:  # without a GPU these tests are skipped; with one they need it, and fail
    cupy = None

PAIRS = [(case, name) for case in cases() for name in LAZIES]


def on_host(x: Any) -> Any:
    found = lib.evaluate(x) if isinstance(x, lazy.Lazy) else x
    return cupy.asnumpy(found)


@pytest.mark.parametrize(
    ("case", "name"), rarely(PAIRS, but=[pair for number, pair in enumerate(PAIRS) if number % 7 == 0]), ids=str
)
def test_lazy_arrays_are_as_good_as_arrays(case: Case, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if case.function not in MEMORY:

        def never(info: Any) -> Any:
            raise AssertionError(f"{case} writes the elements of a lazy array to memory")

        monkeypatch.setattr(lazies, "evaluators", [never])
    place = functools.partial(LAZIES[name], cupy.asarray)
    for dtype in dict.fromkeys((case.dtypes[0], case.dtypes[-1])):
        for shape in (*case.shapes[:4], case.large[-2]):
            check(case, case.arrays(shape, dtype), place, on_host)


def test_numbers_are_those_of_each_call() -> None:
    x = cupy.arange(100_000, dtype=cupy.float32)
    for value in (0.5, 2.0, -3.25):
        assert float(lib.sum(lazy.of(x) * 0 + value)) == 100_000 * value
    for step in (1, 2, 3):
        found = lib.evaluate(lazy.take(x, lazy.arange(0, 1000 * step, step)))
        assert cupy.asnumpy(found).tolist() == np.arange(0, 1000 * step, step).tolist()
    for number in (7, -7):
        assert int(lib.sum(lazy.full(1000, number, "int8") + cupy.zeros(1000, "int8"))) == 1000 * number


def test_a_result_that_is_what_is_read() -> None:
    x = cupy.arange(100_000, dtype=cupy.float32) % 7
    kept = cupy.asnumpy(x)
    lib.evaluate(lazy.flip(x), out=x)
    assert np.array_equal(cupy.asnumpy(x), kept[::-1])
    lib.scan(lazy.of(x) + 1, out=x)
    assert np.array_equal(cupy.asnumpy(x), np.cumsum(kept[::-1] + 1))


def test_the_host_and_the_gpu_are_not_mixed() -> None:
    with pytest.raises(TypeError, match="on the host"):
        lazy.of(cupy.zeros(3)) + np.zeros(3)
    with pytest.raises(TypeError):
        lib.scan_by_key(lazy.of(np.zeros(3, int)), cupy.zeros(3))


def test_a_lazy_array_in_a_graph_and_of_torch() -> None:
    x, out = cupy.arange(5000, dtype=cupy.float32) % 7, cupy.empty(5000, cupy.float32)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        lib.scan(lazy.of(x) * 2, out=out)
        stream.begin_capture()
        lib.scan(lazy.of(x) * 2, out=out)
        graph = stream.end_capture()
        x[:] = 1
        graph.launch(stream)
    stream.synchronize()
    assert cupy.asnumpy(out).tolist() == np.arange(2, 10_001, 2).tolist()
    torch = pytest.importorskip("torch")
    y = torch.arange(1000, device="cuda", dtype=torch.float32)
    assert float(lib.sum(lazy.map(lambda a, b: a * b + 1, y, y.flip(0)))) == float((y * y.flip(0) + 1).sum())
    assert float(lib.sum(y + lazy.of(y))) == float((y + y).sum())


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "complex128", "bool"])
def test_differences(dtype: str) -> None:
    """By vectors, of what is not aligned, along rows and columns, and in a graph."""
    x = (cupy.random.default_rng(0).random(3_000_001, dtype=np.float32) * 9 // 1).astype(dtype)
    for one in (x, x[1:], x[::2]):
        assert bool((lib.diff(one) == cupy.diff(one)).all())
        found = lib.adjacent_difference(one, out=cupy.empty_like(one))
        assert bool((found[1:] == cupy.diff(one)).all()) and found[0] == one[0]
    rows = x[:3_000_000].reshape(3000, 1000)
    for axis in (0, 1):
        assert bool((lib.diff(rows, axis=axis) == cupy.diff(rows, axis=axis)).all())
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        wanted, found = cupy.diff(x), lib.diff(x)
        stream.begin_capture()
        lib.diff(x, out=found)
        graph = stream.end_capture()
        found[...] = 0
        graph.launch(stream)
        stream.synchronize()
        assert bool((found == wanted).all())


@pytest.mark.parametrize("dtype", ["int8", "float16", "float64", "complex128", "bool"])
def test_elements_at_indices(dtype: str) -> None:
    """Out of range too: nothing is read or written outside."""
    random = cupy.random.default_rng(0)
    x = (random.random((3000, 700), dtype=np.float32) * 9 // 1).astype(dtype)
    for axis, extent in ((None, x.size), (0, 3000), (1, 700)):
        indices = random.integers(-3 * extent, 3 * extent, 2001)
        assert bool((lib.take(x, indices, axis) == cupy.take(x, indices, axis)).all())
        clipped = cupy.take(x, cupy.clip(indices, 0, extent - 1), axis)
        assert bool((lib.take(x, indices, axis, mode="clip") == clipped).all())
    along = random.integers(-700, 700, (3000, 5))
    assert bool((lib.take_along_axis(x, along, 1) == cupy.take_along_axis(x, along, 1)).all())
    for lying in (x, x.T, x[:, ::2]):
        mask, values = random.random(lying.shape) < 0.3, lying.ravel()[:999]
        found, wanted = lying.copy(), lying.copy()
        lib.place(found, mask, values)
        cupy.place(wanted, mask, values)
        assert bool((found == wanted).all())
        lib.putmask(found, mask, values)
        cupy.putmask(wanted, mask, values)
        assert bool((found == wanted).all())
        lib.put(found, cupy.arange(5000) * 3, values)
        cupy.put(wanted, cupy.arange(5000) * 3, values)
        assert bool((found == wanted).all())
