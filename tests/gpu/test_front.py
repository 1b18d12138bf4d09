"""Calls with `out=` that come again and again, on a GPU: each is one call of the driver, and computes what is there by then."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from prism import lib
from prism.host import front
from prism.lib.cases import Case, cases
from tests.lib.calls import expected, same

try:
    import cupy
except ImportError:  # without a GPU these tests are skipped; with one they need it, and fail
    cupy = None

CASES = [case for case in cases() if case.out]
WAIT = ("compress", "digitize")
"""Functions that wait for what a kernel says: NumPy raises an error for some of the elements. Orders by key of 2^20 elements take
more scratch memory than is kept."""
OFTEN = front._OFTEN + front._TRIES * front._AGAIN


def known(function: Any) -> int:
    """Return how many calls of a function its front knows."""
    reads = function.__globals__["patterns_"].values()
    every = [given for read in reads if hasattr(read, "miss") for given in read.miss.__self__.known.values()]
    return sum(given is not front._NEVER for given in every)


def library_of(name: str) -> tuple[Any, Any]:
    """Return what puts NumPy's arrays on the GPU, and back."""
    if name == "cupy":
        return cupy.asarray, cupy.asnumpy
    torch = pytest.importorskip("torch")
    return functools.partial(torch.as_tensor, device="cuda"), lambda x: x.cpu().numpy()


@pytest.mark.parametrize("name", ["cupy", "torch"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_calls_that_come_again(case: Case, name: str) -> None:
    put, get = library_of(name)
    shape = case.large[min(1, len(case.large) - 1)]
    function = getattr(lib, case.function)
    given = [put(x) for x in case.arrays(shape)]
    cupy.cuda.Device().synchronize()
    out = put(np.zeros_like(expected(case, case.arrays(shape))))
    before = known(function)
    for number in range(OFTEN):
        assert function(*given, **case.options, out=out) is out
        if number % 8 == 7:
            cupy.cuda.Device().synchronize()  # so that a trial has ended
    assert case.function in WAIT or case.options.get("key") is not None or known(function) > before
    for seed in (1, 2, 3):
        wanted = expected(case, case.arrays(shape, seed=seed))
        if wanted.shape != tuple(out.shape):  # another mask lets another number through
            continue
        for x, y in zip(given, case.arrays(shape, seed=seed), strict=True):
            x[...] = put(y)
        out[...] = 0
        function(*given, **case.options, out=out)
        same(case, out, wanted, get)
    wanted, before = expected(case, case.arrays(shape)), get(out)
    others, room = [put(x) for x in case.arrays(shape)], put(np.zeros_like(before))
    cupy.cuda.Device().synchronize()
    assert function(*others, **case.options, out=room) is room
    same(case, room, wanted, get)
    assert np.array_equal(get(out), before)  # elsewhere: not where it was


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float16", "float32", "float64", "bool"])
def test_one_plan_for_all_numbers(dtype: str) -> None:
    """`initial` is read in each call: what the reference machine computes."""
    host = (np.arange(600) % 5).astype(dtype)
    offsets = np.arange(0, 601, 50)
    keys = (np.arange(600) // 7).astype(np.int32)
    calls = {
        "scan": lambda x, put, v: lib.scan(x, initial=v),
        "scan exclusive": lambda x, put, v: lib.scan(x, exclusive=True, initial=v),
        "segmented_scan": lambda x, put, v: lib.segmented_scan(x, put(offsets), initial=v),
        "segmented_reduce": lambda x, put, v: lib.segmented_reduce(x, put(offsets), initial=v),
        "scan_by_key": lambda x, put, v: lib.scan_by_key(put(keys), x, initial=v),
        "reduce_by_key": lambda x, put, v: lib.reduce_by_key(put(keys), x, initial=v)[1],
        "reduce": lambda x, put, v: lib.reduce(x, initial=v),
        "sum": lambda x, put, v: lib.sum(x, initial=v),
        "max": lambda x, put, v: lib.max(x, initial=v),
        "sum axis": lambda x, put, v: lib.sum(x.reshape(20, 30), axis=0, initial=v),
        "max axis": lambda x, put, v: lib.max(x.reshape(20, 30), axis=1, initial=v),
    }
    values = (True, False) if dtype == "bool" else (1, 7, 0, 2, 3)
    for name, call in calls.items():
        for value in values:
            found = call(cupy.asarray(host), cupy.asarray, value)
            assert np.array_equal(cupy.asnumpy(found), call(host, np.asarray, value)), (name, value)
