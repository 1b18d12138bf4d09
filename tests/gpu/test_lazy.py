"""Lazy arrays on a GPU: every function on them, as on the arrays that they stand for; numbers of one structure, overlaps.

tests/lib/lazy/test_functions.py is the same for NumPy's arrays.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from prism import lib
from prism.host import lazies
from prism.lang import const, device, int64, ptr, requires, template, thread
from prism.lang import dtype as dtype_
from prism.lib import lazy
from prism.lib.cases import Case, cases
from tests.lib.calls import check
from tests.lib.lazy.lazies import LAZIES
from tests.lib.lazy.test_functions import MEMORY, TAKEN_APART
from tests.lib.lazy.test_kernels import shift
from tests.rarely import rarely

try:
    import cupy
except ImportError:  # without a GPU these tests are skipped; with one they need it, and fail
    cupy = None


@device
@requires(thread[1])
@template(T=dtype_)
def scatter(
    i: int64 @ thread[1], x: ptr(const(T)) @ thread[1], to: ptr(const(int64)) @ thread[1], y: ptr(T) @ thread[1]
):
    y[to[i]] = x[i]


PAIRS = [(case, name) for case in cases() if case.function not in TAKEN_APART for name in LAZIES]


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
        for shape in (*case.shapes[:4], *case.large[-2:][:1]):
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
    cupy.cuda.Device().synchronize()  # it does not wait for what was queued before
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


def test_lambdas_that_name_numbers() -> None:
    """One kernel for all of them, of both kinds of call: the first, and the second of a kind."""
    x = cupy.arange(1000, dtype=cupy.float32)
    for k in (2, 3, 0.5):
        for more in (1, 7):
            found = lib.evaluate(lazy.map(lambda a: a * k + more, x))
            assert found.dtype == x.dtype and bool((found == x * np.float32(k) + np.float32(more)).all())
            assert bool((lib.select(x, lambda a: a > more) == x[x > more]).all())
            assert int(lib.find(x, lambda a: a > more)) == more + 1
    real, imaginary = (cupy.zeros(1000, np.float32) for _ in range(2))
    lib.cumsum((x + 2j * x).astype(np.complex64), out=lazy.zip_out(real, imaginary))
    assert bool((real * 2 == imaginary).all()) and float(real[-1]) == 499_500


def test_a_function_for_each_index() -> None:
    """As tests/lib/lazy/test_kernels.py has it: scattered writes, of an array and of a lazy one, by one axis and two."""
    x, to, y = cupy.arange(1000, dtype=cupy.float64), cupy.arange(999, -1, -1), cupy.zeros(1000)
    lib.for_each(scatter, 1000, lazy.of(x) + 0.5, to, y)
    assert np.array_equal(cupy.asnumpy(y), np.arange(1000)[::-1] + 0.5)
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()  # it does not wait for what was queued before
    lib.for_each(scatter, 1000, x, to, y, stream=stream)
    stream.synchronize()
    assert np.array_equal(cupy.asnumpy(y), np.arange(1000)[::-1])
    lib.for_each(scatter, 0, x, to, y)


def test_kernels_of_a_users_read_lazy_arrays() -> None:
    x, y = cupy.arange(1000, dtype=cupy.float32), cupy.zeros(1000, cupy.float32)
    for read, wanted in (
        (lazy.of(x) * x + 0.5, cupy.asnumpy(x) ** 2 + np.float32(0.5)),
        (lazy.flip(x), np.arange(999, -1, -1)),
        (lazy.take(x, cupy.arange(999, -1, -1)), np.arange(999, -1, -1)),
        (lazy.arange(3, 1003, dtype="float32"), np.arange(3, 1003)),
    ):
        shift[8, 128](read, y, 1000)
        assert np.array_equal(cupy.asnumpy(y), np.roll(wanted, -1))


def test_quotients_permutations_plans_and_results_that_go_elsewhere() -> None:
    x = cupy.arange(-500, 500)
    host = cupy.asnumpy(x)
    for found, wanted in ((lazy.of(x) // 7, host // 7), (lazy.of(x) % -7, host % -7), (lazy.of(x) ** 3, host**3)):
        assert np.array_equal(on_host(found), wanted)
    assert sorted(on_host(lazy.permutation(1000, 5)).tolist()) == list(range(1000))
    assert np.array_equal(on_host(lazy.permutation(1000, 5)), lib.evaluate(lazy.permutation(1000, 5)))
    assert int(lib.sum(lazy.take(x, lazy.permutation(1000, 5)))) == host.sum()
    again = lib.plan(lib.scan, lazy.of(x) * 2)
    x[:] = 1
    assert cupy.asnumpy(again()).tolist() == list(range(2, 2002, 2))
    y = cupy.zeros(1000, x.dtype)
    lib.scan(x, out=lazy.map_out(lambda s: s * 10, y))
    assert cupy.asnumpy(y).tolist() == list(range(10, 10_010, 10))
    lib.scan(x, out=lazy.put(y, cupy.arange(999, -1, -1)))
    assert cupy.asnumpy(y).tolist() == list(range(1000, 0, -1))


def test_results_that_are_one_lazy_array_go_elsewhere_at_once() -> None:
    x, y, z = cupy.arange(1000, dtype=cupy.float32), cupy.zeros(999, cupy.float32), cupy.zeros(1000, cupy.float32)
    stream = cupy.cuda.Stream(non_blocking=True)
    for chosen in (None, stream):
        cupy.cuda.Device().synchronize()
        lib.diff(x, out=lazy.map_out(lambda s: s + 1, y), stream=chosen)
        lib.take(x, cupy.arange(999, -1, -1), out=lazy.map_out(lambda s: s * 2, z), stream=chosen)
        cupy.cuda.Device().synchronize()
        assert bool((y == 2).all()) and bool((z == 2 * x[::-1]).all())
        y[...], z[...] = 0, 0
    pairs = lazy.zip(x, lazy.of(x) * 3, names=("a", "b"))
    lib.evaluate(pairs, out=lazy.zip_out(z, x))  # what it is of is overwritten: made beside
    assert cupy.asnumpy(z).tolist() == list(range(1000)) and bool((x == 3 * z).all())
    assert lib.evaluate(lazy.of(x) + 1, out=lazy.discard) is lazy.discard


def test_more_elements_than_2_31_without_memory() -> None:
    """Counted, found and added up: the numbers are of 64 bits, and what is read is computed."""
    n = 2**31 + 5
    where = lazy.of(cupy.zeros((), cupy.int64))
    counted = lazy.map(lambda a, b: a + b, lazy.arange(n), lazy.broadcast_to(where, (n,)))
    assert int(lib.max(counted)) == n - 1 and int(lib.argmax(counted)) == n - 1
    assert int(lib.sum(counted)) == n * (n - 1) // 2
    assert int(lib.count_nonzero(counted > n - 4)) == 3
    assert cupy.asnumpy(lib.flatnonzero(counted > n - 4, size=4, fill_value=-1)).tolist() == [n - 3, n - 2, n - 1, -1]


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
    cupy.cuda.Device().synchronize()  # it does not wait for what was queued before
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


def test_the_next_process_checks_nothing(tmp_path: Path) -> None:
    """Tests of prism/runtime: viewed, texts. What one process has made is loaded by the next, without the checker."""
    program = tmp_path / "sums.py"
    program.write_text(
        "import sys, cupy, prism\n"
        "L, x, k = prism.lib.lazy, cupy.arange(1000, dtype='float32'), float(sys.argv[1])\n"
        "print(float(prism.lib.sum(L.map(lambda v: v * k + 1, x))), float(prism.lib.diff(x)[5]))\n"
        "print('prism.lang.check' in sys.modules)\n"
    )
    environment = {**os.environ, "PRISM_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": os.pathsep.join(sys.path)}
    said = [
        subprocess.run(
            [sys.executable, str(program), number], env=environment, check=True, capture_output=True, text=True
        ).stdout.split()
        for number in ("2", "2", "3")
    ]
    assert said == [["1000000.0", "1.0", "True"], ["1000000.0", "1.0", "False"], ["1499500.0", "1.0", "False"]]
