"""Medians, quantiles, partitions and elements of a rank, of NumPy arrays, against NumPy; errors; random calls; a GPU's plans.

Tests of prism/lib/algorithms/ranks: api, calls, plan, quantiles, valid, ships, cases.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.exceptions import AxisError

from prism import lib
from prism.lib.algorithms.ranks import calls, plan
from prism.lib.algorithms.ranks.quantiles import METHODS
from tests.lib.oracles import top_of
from tests.rarely import rarely

KINDS = ("float32", "bool", "int8", "uint8", "uint16", "int32", "int64", "uint64", "float16", "float64")
FUZZ = int(os.environ.get("FUZZ_EXAMPLES", "10000"))


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """NumPy warns of NaN, and of what overflows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def same(found: Any, wanted: Any, *what: Any) -> None:
    assert np.shape(found) == np.shape(wanted), what
    assert found.dtype == wanted.dtype, (what, found.dtype, wanted.dtype)
    assert np.array_equal(found, wanted, equal_nan=found.dtype.kind == "f"), (what, found, wanted)


def numbers(kind: str, *shape: int, scale: float = 20.0, seed: int = 0) -> Any:
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(kind)


def check_partition(x: Any, kth: Any, axis: int = -1) -> None:
    """Compare what stands at each rank with a sort, and what stands around it."""
    ordered = np.sort(x, axis=axis)
    found, places = lib.partition(x, kth, axis), lib.argpartition(x, kth, axis)
    same(np.sort(found, axis=axis), ordered)
    assert np.array_equal(np.sort(places, axis=axis), np.broadcast_to(_along(x, axis), x.shape))
    for one in (found, np.take_along_axis(x, places, axis)):
        for rank in np.ravel(kth):
            at = np.take(one, [rank], axis)
            assert np.array_equal(at, np.take(ordered, [rank], axis), equal_nan=x.dtype.kind == "f")
            rank = int(rank) % x.shape[axis]
            before, behind = (np.take(one, range(*ends), axis) for ends in ((0, rank), (rank + 1, x.shape[axis])))
            assert ((before <= at) | (at != at)).all() and ((behind >= at) | (behind != behind)).all()


def _along(x: Any, axis: int) -> Any:
    return np.arange(x.shape[axis]).reshape([-1 if k == axis % x.ndim else 1 for k in range(x.ndim)])


@pytest.mark.parametrize("kind", rarely(KINDS, but=["float32"]))
def test_medians(kind: str) -> None:
    for n in (1, 2, 9, 4096, 4097) if kind == "float32" else (9, 4097):
        x = numbers(kind, 2, n, seed=n)
        same(lib.median(x, axis=1), np.median(x, axis=1), kind, n)
        same(lib.median(x), np.median(x), kind, n)
        same(lib.kthvalue(x, n // 2 + 1)[1], top_of(x, n // 2 + 1, largest=False)[1][:, -1], kind, n)
        if kind.startswith("float"):
            x[0, n // 2] = np.nan
            same(lib.median(x, axis=1), np.median(x, axis=1), kind, n)
            same(lib.nanmedian(x, axis=1), np.nanmedian(x, axis=1), kind, n)


QUANTILES = [(method, kind) for method in METHODS for kind in ("float32", "int32", "float16", "uint8")]
OFTEN = [("linear", "float32"), ("averaged_inverted_cdf", "uint8")]


@pytest.mark.parametrize(("method", "kind"), rarely(QUANTILES, but=OFTEN))
def test_quantiles(method: str, kind: str) -> None:
    x = numbers(kind, 3, 301)
    for q in (0.3, 1, [0, 0.1, 0.999, 1.0], np.float32(0.7), [[0.2, 0.5]]):
        wide = x.astype(np.int32) if kind == "uint8" and np.ndim(q) == 0 else x  # NumPy's differences wrap
        same(lib.quantile(wide, q, axis=1, method=method), np.quantile(wide, q, axis=1, method=method), kind, q)
        if kind.startswith("float"):
            y = x.copy()
            y[np.random.default_rng(0).random(y.shape) < 0.3] = np.nan
            y[1] = np.nan
            found = lib.nanquantile(y, q, axis=1, method=method)
            same(found, np.nanquantile(y, q, axis=1, method=method), kind, q)


def test_percentiles() -> None:
    x = numbers("float32", 2000)
    for q in (37, 37.5, [0, 50, 100], np.float32(20)):
        same(lib.percentile(x, q), np.percentile(x, q), q)
        x[7] = np.nan
        same(lib.nanpercentile(x, q), np.nanpercentile(x, q), q)
        x[7] = 1


def test_differences_that_a_dtype_does_not_hold() -> None:
    """NumPy's wrap: it says -128.3."""
    assert lib.quantile(np.array([-128, 127], np.int8), 0.3) == pytest.approx(-51.5)


def test_infinities() -> None:
    x = np.array([np.inf, -np.inf, 1, np.inf, -np.inf, 2])
    for q in (0, 0.1, 0.5, 0.9, 1):
        for method in ("linear", "lower", "midpoint", "hazen"):
            same(lib.quantile(x, q, method=method), np.quantile(x, q, method=method), q, method)
    same(lib.median(x), np.median(x))
    same(lib.median(np.array([3e38, 3e38], np.float32)), np.median(np.array([3e38, 3e38], np.float32)))


AXES = list(enumerate((0, -1, None, (0, 2), (1,))))


@pytest.mark.parametrize(("number", "axis"), rarely(AXES, but=[AXES[0], AXES[3]]))
def test_axes(number: int, axis: Any) -> None:
    x = numbers("float64", 4, 5, 6)
    options = {"axis": axis, "keepdims": number % 3 == 1}
    same(lib.median(x, **options), np.median(x, **options), options)
    same(lib.median(x.T[::-1, ::2], **options), np.median(x.T[::-1, ::2], **options), options)
    if number % 2:
        same(lib.quantile(x, [0.2, 0.7], **options), np.quantile(x, [0.2, 0.7], **options), options)
    else:
        same(lib.nanmedian(x, **options), np.nanmedian(x, **options), options)


def test_axes_of_ranks() -> None:
    x = numbers("float32", 4, 5, 6)
    same(lib.median(np.float32(3)), np.median(np.float32([3])))
    for axis in (0, 1, None):
        for keepdims in (axis == 1, axis is None):
            values, indices = lib.kthvalue(x, 3, axis, keepdims=keepdims)
            flat, along = (x, axis) if axis is not None else (x.ravel(), 0)
            wanted = [np.take(one, [2], along) for one in top_of(flat, 3, axis=along, largest=False)]
            same(values, wanted[0] if keepdims else wanted[0].squeeze(along)[()])
            same(indices, wanted[1] if keepdims else wanted[1].squeeze(along)[()])


@pytest.mark.parametrize("kind", rarely(["float32", "uint8"], but=["float32"]))
def test_partitions(kind: str) -> None:
    for n in (1, 50, 5000):
        x = numbers(kind, 2, n, scale=3)
        for kth in {n // 3, -1}:
            check_partition(x, kth)
    check_partition(x, [5, 4000, -10])
    check_partition(x.T.copy(), 700, axis=0)
    check_partition(np.where(x % 3 == 0, np.nan, x), 4000)
    found = lib.partition(x, 9, axis=None)
    assert found.shape == (10_000,) and found[9] == np.sort(x, axis=None)[9]


def test_out() -> None:
    x = numbers("float32", 5, 40)
    for out in (np.zeros(5, np.float32), np.zeros(10, np.float32)[::2], np.zeros(5)):
        assert lib.median(x, axis=1, out=out, overwrite_input=True) is out
        assert np.array_equal(out, np.median(x, axis=1))
    out = np.zeros((2, 1, 1), np.float64)
    assert lib.quantile(x, [0.1, 0.2], axis=(0, 1), out=out, keepdims=True) is out
    assert np.array_equal(out, np.quantile(x, [0.1, 0.2], axis=(0, 1), keepdims=True))
    pair = np.zeros(5, np.float32), np.zeros(5, np.int64)
    assert lib.kthvalue(x, 3, out=pair)[1] is pair[1]
    assert np.array_equal(pair[0], np.sort(x)[:, 2])


def test_no_elements() -> None:
    assert np.isnan(lib.median(np.zeros(0)))
    assert np.isnan(lib.median(np.zeros((0, 3)), axis=0)).all()
    assert lib.median(np.zeros((3, 0)), axis=0).shape == (0,)
    assert lib.quantile(np.zeros((0, 3)), [0.5], axis=1).shape == (1, 0)
    with pytest.raises(IndexError, match="quantile"):
        lib.quantile(np.zeros(0), 0.5)
    assert np.isnan(lib.nanquantile(np.zeros(0), 0.5))
    assert lib.partition(np.zeros(0), 0).shape == (0,)
    assert lib.kthvalue(np.zeros((0, 4)), 2)[1].shape == (0,)


def test_errors() -> None:
    x = np.arange(5.0)
    for call in (lambda: lib.quantile(x, 1.5), lambda: lib.quantile(x, [-0.1]), lambda: lib.quantile(x, np.nan)):
        with pytest.raises(ValueError, match=r"range \[0, 1\]"):
            call()
    with pytest.raises(ValueError, match=r"range \[0, 100\]"):
        lib.percentile(x, 101)
    with pytest.raises(ValueError, match="not a valid method"):
        lib.quantile(x, 0.5, method="median")
    with pytest.raises(ValueError, match="scalar or 1d"):
        lib.quantile(x, np.zeros((1, 1, 1)))
    with pytest.raises(TypeError, match="real numbers"):
        lib.median(x.astype(complex))
    with pytest.raises(TypeError, match="`q`"):
        lib.quantile(x, "0.5")
    with pytest.raises(TypeError, match="interpolated"):
        lib.quantile(x > 2, 0.5)
    assert lib.quantile(x > 2, 0.5, method="lower") == np.quantile(x > 2, 0.5, method="lower")
    for function in (lib.median, lambda a, axis: lib.partition(a, 0, axis), lambda a, axis: lib.kthvalue(a, 1, axis)):
        with pytest.raises(AxisError):
            function(x, 1)
    with pytest.raises(ValueError, match="shape"):
        lib.median(x, out=np.zeros(2))
    with pytest.raises(TypeError, match="`out`"):
        lib.median(x, out=np.zeros((), np.int32))
    for k in (0, 6):
        with pytest.raises(ValueError, match="`k` must be between 1 and 5"):
            lib.kthvalue(x, k)
    with pytest.raises(TypeError, match="pair"):
        lib.kthvalue(x, 1, out=x)
    for kth in (5, -6, [1, 9]):
        with pytest.raises(ValueError, match="out of bounds"):
            lib.partition(x, kth)
    with pytest.raises(TypeError, match="integer"):
        lib.argpartition(x, 1.0)
    with pytest.raises(ValueError, match="`kind`"):
        lib.partition(x, 1, kind="quicksort")
    with pytest.raises(ValueError, match="`order`"):
        lib.partition(x, 1, order="f")


def random_call(seed: int) -> None:
    random = np.random.default_rng(seed)
    kind = str(random.choice(["float32", "float64", "int32", "uint16"]))
    shape = (
        tuple(random.integers(1, 12, random.integers(1, 4)).tolist())
        if random.random() < 0.7
        else (random.integers(1, 9000),)
    )
    x = numbers(kind, *shape, scale=float(random.choice([2, 50])), seed=seed)
    if kind[0] == "f" and random.random() < 0.5:
        x[random.random(shape) < 0.1] = np.nan
    axis = None if random.random() < 0.2 else int(random.integers(-x.ndim, x.ndim))
    q = random.random() if random.random() < 0.5 else random.random(3)
    method = str(random.choice([*METHODS]))
    options = {"axis": axis, "keepdims": bool(random.random() < 0.3)}
    same(lib.quantile(x, q, method=method, **options), np.quantile(x, q, method=method, **options), seed)
    same(lib.nanquantile(x, q, method=method, **options), np.nanquantile(x, q, method=method, **options), seed)
    same(lib.median(x, **options), np.median(x, **options), seed)
    if axis is not None:
        check_partition(x, int(random.integers(0, x.shape[axis])), axis)


def test_random_calls() -> None:
    random_call(0)


@pytest.mark.fuzz
@pytest.mark.parametrize("part", range(10))
def test_many_random_calls(part: int) -> None:
    for seed in range(1000 + part * FUZZ // 100, 1000 + (part + 1) * FUZZ // 100):
        random_call(seed)


class Device:
    """A GPU, as plans ask for one."""

    host, arch, multiprocessors = False, "sm_90a", 132

    def wave(self, instance: Any, threads: int) -> int:
        return 3


@pytest.mark.parametrize("kind", rarely(("float32", "uint8", "float64", "float16"), but=["float32"]))
def test_what_a_gpu_is_given(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU's plans, run by the reference machine: levels, parts, vectors and blocks are not those of the host's plans."""
    found, parting = calls.find, calls.part
    monkeypatch.setattr(plan, "_LONGEST", 1 << 12)  # so that what is kept is a row once more
    monkeypatch.setattr(
        calls, "find", lambda rows, one, machine, *rest, **more: found(rows, one, Device(), *rest, **more)
    )
    monkeypatch.setattr(calls, "part", lambda *given, **more: parting(*given[:5], Device(), *given[6:], **more))
    x = numbers(kind, 70_003)
    for past in (0, 3):
        same(lib.median(x[past:]), np.median(x[past:]))
        same(lib.quantile(x[past:], [0.001, 0.99]), np.quantile(x[past:], [0.001, 0.99]))
    values, indices = lib.kthvalue(x, 333)
    assert indices == top_of(x, 333, largest=False)[1][-1] and values == x[indices]
    check_partition(x[3:], 50_000)
    if kind.startswith("float"):
        x[::3] = np.nan
        same(lib.median(x), np.median(x))
        same(lib.nanmedian(x), np.nanmedian(x))
