"""The smallest and the largest element at once, and where they are. prism/lib/algorithms/reduce; kernels/reduce/maps.py."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import prism
from prism import lib
from prism.host import call
from prism.host.machine import Host
from prism.lib import lazy

RANDOM = np.random.default_rng(0)
DTYPES = (
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64",
    "complex64", "complex128",
)  # fmt: skip


def numbers(dtype: str, shape: Any) -> Any:
    kind = np.dtype(dtype).kind
    if kind == "b":
        return RANDOM.integers(0, 2, shape).astype(bool)
    if kind == "c":
        return (RANDOM.integers(-5, 5, shape) + 1j * RANDOM.integers(-5, 5, shape)).astype(dtype)
    low = 0 if kind == "u" else -50
    return RANDOM.integers(low, 50, shape).astype(dtype)


def steps(function: Any, *arguments: Any, **options: Any) -> int:
    """Return how many launches the first such call decides on."""
    call.forget()
    function(*arguments, **options)
    return sum(len(known.decision.plan.steps) for known in call._known.values() if known.decision.plan is not None)


@pytest.mark.parametrize("shape", [(1,), (7,), (1000,), (3, 5), (2, 3, 4), ()])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.covering(2)
def test_both_extremes(dtype: str, shape: tuple[int, ...]) -> None:
    x = numbers(dtype, shape)
    found = lib.minmax(x)
    assert found == (x.min(), x.max()) and [type(one) for one in found] == [type(x.min())] * 2
    for axis in range(x.ndim):
        low, high = lib.minmax(x, axis, keepdims=axis == 0)
        for one, wanted in ((low, x.min(axis, keepdims=axis == 0)), (high, x.max(axis, keepdims=axis == 0))):
            assert np.array_equal(one, wanted) and one.dtype == x.dtype and np.shape(one) == np.shape(wanted)
    assert lib.argminmax(x) == (x.argmin(), x.argmax())


def test_of_arrays_that_lie_otherwise() -> None:
    x = np.asfortranarray(numbers("int32", (6, 8, 10)))
    for part in (x, x[::2], x[:, ::-1], x.T, x[1:, 1:, 1:]):
        assert lib.minmax(part) == (part.min(), part.max())
        for axis in (0, 1, 2, (0, 2), (1, 2)):
            low, high = lib.minmax(part, axis)
            assert np.array_equal(low, part.min(axis)) and np.array_equal(high, part.max(axis))
    assert lib.minmax(lazy.of(x) * 2) == (x.min() * 2, x.max() * 2)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_nan_and_infinities(dtype: str) -> None:
    x = numbers(dtype, 100)
    x[[3, 5]] = np.inf, -np.inf
    assert lib.minmax(x) == (-np.inf, np.inf)
    x[70] = np.nan
    assert np.isnan(lib.minmax(x)).all() and lib.argminmax(x) == (70, 70)
    assert [len(one) for one in lib.minmax(np.zeros((0, 3)), 1)] == [0, 0]
    for function in (lib.minmax, lib.argminmax):
        with pytest.raises(ValueError, match="zero-size|empty"):
            function(x[:0])


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float32", "int64", "bool"])
def test_positions_of_both_on_a_gpu(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU's plan, run by the reference machine: one launch, whatever `x` begins at."""
    for name, value in (("host", False), ("arch", "sm_90a"), ("multiprocessors", 4)):
        monkeypatch.setattr(Host, name, value)
    monkeypatch.setattr(Host, "wave", lambda self, instance, threads: 3)
    monkeypatch.setattr(prism.interpret, "run", functools.partial(prism.interpret.run, check=True))
    assert steps(lib.argminmax, numbers(dtype, 9000)) == 1
    for size in (1, 5, 300, 9000):
        for past in (0, 1, 3):
            x = numbers(dtype, size + past)[past:]
            assert lib.argminmax(x) == (x.argmin(), x.argmax())
            assert [one.shape for one in lib.argminmax(x, keepdims=True)] == [(1,), (1,)]
        for into in ("int32", "uint16", "int64", ">i4"):  # of GPUs' kernels some store positions as `out` has them
            out = np.zeros((), into)
            assert lib.argmax(x, out=out) is out and out == x.argmax()
    x = numbers(dtype, (60, 70))
    assert lib.argminmax(x.T) == (x.T.argmin(), x.T.argmax())
    assert steps(lib.argmax, x, out=np.zeros((), np.int32)) == 1
    call.forget()


def test_each_element_is_read_once() -> None:
    x = numbers("float32", 1000)
    assert steps(lib.minmax, x) == 1
    assert steps(lib.minmax, x.reshape(10, 100), axis=1) == steps(lib.min, x.reshape(10, 100), axis=1)
    with pytest.raises(ValueError, match="`minmax` of these arrays is not just launches"):
        lib.plan(lib.minmax, x)
