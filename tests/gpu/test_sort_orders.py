"""Sorts by keys, bits and comparators on a GPU, and results in place: structs, long rows, memory, streams."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from prism import lib
from prism.lang import uint32
from tests.lib.algorithms.sort.test_orders import Place, day_key, earlier, order_of_days
from tests.lib.algorithms.sort.test_orders import days as host_days

cupy = pytest.importorskip("cupy")

SIZES = (1000, 20_000, 1_000_003, (1 << 22) + 77)


def structured(x: Any) -> Any:
    try:
        return cupy.asarray(x)
    except (TypeError, ValueError) as error:
        pytest.skip(f"CuPy {cupy.__version__} has no arrays of structs: {error}")


def days(n: int) -> tuple[Any, Any]:
    x = host_days(n, seed=n)
    return x, order_of_days(x)


@pytest.mark.parametrize("n", SIZES)
def test_structs(n: int) -> None:
    host, order = days(n)
    x, values = structured(host), cupy.arange(n, dtype=np.int16)
    for how in ({"key": day_key}, {"less": earlier}):
        assert np.array_equal(lib.sort(x, **how).get(), host[order])
        assert np.array_equal(lib.argsort(x, **how).get(), order)
        keys, moved = lib.sort_by_key(x, values, **how)
        assert np.array_equal(keys.get(), host[order]) and np.array_equal(moved.get(), values.get()[order])
    for names in (None, "number"):
        by_fields = np.argsort(host, order=names, kind="stable")
        assert np.array_equal(lib.argsort(x, order=names).get(), by_fields)
        assert np.array_equal(lib.sort(x, order=names).get(), host[by_fields])
    assert lib.sort(x, key=day_key, out=x) is x and np.array_equal(x.get(), host[order])


@pytest.mark.parametrize("n", SIZES)
def test_large_elements(n: int) -> None:
    host = np.zeros(n, Place)
    host["x"], host["name"] = np.random.default_rng(n).integers(0, 5000, n), np.arange(n)
    order, x = np.argsort(host["x"], kind="stable"), structured(host)
    assert np.array_equal(lib.sort(x, key=lambda one: uint32(one.x)).get(), host[order])
    keys, values = lib.sort_by_key(x["x"].copy(), x)
    assert np.array_equal(values.get(), host[order]) and np.array_equal(keys.get(), host["x"][order])
    numbers = cupy.arange(n) * 1j
    assert np.array_equal(lib.sort_by_key(cupy.asarray(host["x"]), numbers)[1].get(), 1j * order)
    z = (host["x"] % 9 + 1j * (host["x"] % 77)).astype(np.complex128)
    for dtype in (np.complex64, np.complex128):
        order = np.argsort(z.astype(dtype), kind="stable")
        assert np.array_equal(lib.argsort(cupy.asarray(z.astype(dtype))).get(), order)
        assert np.array_equal(lib.sort(cupy.asarray(z.astype(dtype))).get(), z[order].astype(dtype))


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("bits", [(0, 8), (5, 21), (24, 32), (0, 32)])
def test_bits(bits: tuple[int, int], n: int) -> None:
    host = np.random.default_rng(n).integers(0, 1 << 32, n, dtype=np.uint32)
    order = np.argsort(host >> bits[0] & ((1 << (bits[1] - bits[0])) - 1), kind="stable")
    x, values = cupy.asarray(host), cupy.arange(n)
    assert np.array_equal(lib.sort(x, bits=bits).get(), host[order])
    assert np.array_equal(lib.argsort(x, bits=bits, dtype="int32").get(), order)
    keys, moved = lib.sort_by_key(x, values, bits=bits)
    assert np.array_equal(keys.get(), host[order]) and np.array_equal(moved.get(), order)


def test_comparators_along_axes() -> None:
    host = np.random.default_rng(0).integers(0, 100, (300, 1000), dtype=np.int32)
    x = cupy.asarray(host)
    for less in (lambda a, b: a % 10 < b % 10, lambda a, b: not b % 10 <= a % 10):  # by a key, and by merging
        for axis in (0, 1):
            order = np.argsort(host % 10, axis=axis, kind="stable")
            assert np.array_equal(lib.argsort(x, axis, less=less).get(), order)
            assert np.array_equal(lib.sort(x, axis, less=less).get(), np.take_along_axis(host, order, axis))


@pytest.mark.parametrize("n", SIZES)
def test_comparators(n: int) -> None:
    """The order of numbers by digits; others by merging, of pairs too."""
    host = np.random.default_rng(n).integers(0, 1 << 32, n, dtype=np.uint32)
    x, values, order = cupy.asarray(host), cupy.arange(n), np.argsort(host, kind="stable")
    for less in (lambda a, b: a < b, lambda a, b: not b <= a):
        assert np.array_equal(lib.sort(x, less=less).get(), host[order])
        keys, moved = lib.sort_by_key(x, values, less=less)
        assert np.array_equal(keys.get(), host[order]) and np.array_equal(moved.get(), order)


@pytest.mark.parametrize("scalar", ["uint16", "float32", "int64"])
@pytest.mark.parametrize("kind", ["all", "few", "equal"])
def test_in_place(scalar: str, kind: str) -> None:
    """What is sorted, and scratch as large, are all the memory that is taken."""
    n = 3_000_001
    host = (
        (np.random.default_rng(0).random(n) * {"all": 60_000, "few": 250, "equal": 1}[kind])
        .astype(np.int64)
        .astype(scalar)
    )
    order = np.argsort(host, kind="stable")
    pool = cupy.get_default_memory_pool()
    for _ in range(3):  # decided, looked up
        x, values = cupy.asarray(host), cupy.arange(n, dtype=np.int32)
        assert lib.sort(x, out=x) is x and np.array_equal(x.get(), host[order])
        x = cupy.asarray(host)
        keys, moved = lib.sort_by_key(x, values, out=(x, values))
        assert (
            keys is x
            and moved is values
            and np.array_equal(x.get(), host[order])
            and np.array_equal(values.get(), order)
        )
    del keys, moved, values
    pool.free_all_blocks()
    before = pool.total_bytes()
    lib.sort(x, out=x)
    assert pool.total_bytes() - before < 1.2 * host.nbytes + (1 << 21)


@pytest.mark.parametrize("kind", ["uniform", "half", "equal", "few", "parts", "sorted"])
@pytest.mark.parametrize("n", [1 << 22, 20_000_003])
def test_many_elements_by_any_order(n: int, kind: str) -> None:
    """By samples, with values and without; values that are as frequent as parts are long, and such as have several parts."""
    random = cupy.random.default_rng(n)
    x = random.integers(0, 1 << 32, n, dtype=np.uint32)
    if kind == "half":
        x[::2] = x[0]
    elif kind in ("equal", "few", "parts"):
        x = random.integers(0, {"equal": 1, "few": 9, "parts": n // 6000}[kind], n, dtype=np.uint32) * np.uint32(40503)
    elif kind == "sorted":
        x = cupy.sort(x)
    upper = (x >> np.uint32(12)).astype(np.uint32)
    keys, values = lib.sort_by_key(upper, cupy.arange(n, dtype=np.uint32))
    assert bool((lib.sort(x, less=lambda a, b: not b >> 12 <= a >> 12) == x[values]).all())
    found, places = lib.sort_by_key(x, cupy.arange(n, dtype=np.uint32), less=lambda a, b: not b >> 12 <= a >> 12)
    assert bool((places == values).all()) and bool((found == x[values]).all()) and bool((keys == upper[values]).all())


def test_lazy_values() -> None:
    n = 1_000_003
    host = np.random.default_rng(0).integers(0, 1 << 32, n, dtype=np.uint32)
    order, x = np.argsort(host, kind="stable"), cupy.asarray(host)
    for _ in range(2):  # decided, looked up
        assert np.array_equal(lib.sort_by_key(x, lib.lazy.arange(n))[1].get(), order)
        assert np.array_equal(lib.sort_by_key(x, lib.lazy.of(x) // 2, out=(None, x))[1].get(), host[order] // 2)
        x = cupy.asarray(host)


def test_streams_and_graphs() -> None:
    n = 300_000
    host, order = days(n)
    x, out = structured(host), structured(host)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        lib.sort(x, key=day_key, out=out)
        stream.begin_capture()
        lib.sort(x, key=day_key, out=out)
        graph = stream.end_capture()
        out.view(np.uint64)[:] = 0
        graph.launch(stream)
        assert np.array_equal(out.get(), host[order])
    out.view(np.uint64)[:] = 0
    cupy.cuda.Device().synchronize()
    lib.sort(x, key=day_key, out=out, stream=stream)
    stream.synchronize()
    assert np.array_equal(out.get(), host[order])


def test_plans() -> None:
    n = 300_000
    random = np.random.default_rng(0)
    x, values = cupy.empty(n, np.uint32), cupy.arange(n)
    out = cupy.empty_like(x), cupy.empty_like(values)
    pairs, itself = lib.plan(lib.sort_by_key, x, values, out=out), lib.plan(lib.sort, x, out=x)
    some = lib.plan(lib.sort, x, bits=(8, 24))
    for _ in range(2):
        host = random.integers(0, 1 << 32, n, dtype=np.uint32)
        order = np.argsort(host, kind="stable")
        x.set(host)
        found = pairs()
        assert (
            found[0] is out[0] and np.array_equal(out[0].get(), host[order]) and np.array_equal(found[1].get(), order)
        )
        assert np.array_equal(some().get(), host[np.argsort(host >> 8 & 0xFFFF, kind="stable")])
        assert itself() is x and np.array_equal(x.get(), host[order])


def test_torch() -> None:
    torch = pytest.importorskip("torch")
    x = torch.randint(0, 1000, (50, 70), device="cuda")
    order = torch.sort(x % 10, dim=0, stable=True)[1]
    key = lambda a: uint32(a % 10)
    less = lambda a, b: a % 10 < b % 10
    for how in ({"key": key}, {"less": less}):
        assert torch.equal(lib.argsort(x, 0, **how), order) and torch.equal(lib.sort(x, 0, **how), x.gather(0, order))
        values, out = torch.arange(3500, device="cuda").reshape(50, 70), (torch.zeros_like(x), torch.zeros_like(x))
        assert lib.sort_by_key(x, values, 0, out=out, **how)[0] is out[0]
        assert torch.equal(out[0], x.gather(0, order)) and torch.equal(out[1], values.gather(0, order))
    y = x.reshape(-1)
    wanted = torch.sort(y)[0]
    assert lib.sort(y, out=y) is y and torch.equal(y, wanted)
    z = torch.complex(x.double(), -x.double())
    assert torch.equal(lib.sort(z, 0).real, torch.sort(x, dim=0)[0].double())
