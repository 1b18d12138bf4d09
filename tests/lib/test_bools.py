"""Bools whose bytes are neither 0 nor 1, as `np.frombuffer` makes them: true, and counted as 1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from prism import lib
from prism.kernels import scan as kernels
from prism.lib import shipped_kernels
from prism.lib.algorithms.reduce import api as reductions
from prism.lib.algorithms.reduce import calls as reduce_calls
from prism.lib.algorithms.scan import plan as scan_plans
from prism.lib.algorithms.scan.plan import Shape, Task
from prism.lib.operators import BY_NAME
from prism.runtime.arrays import describe
from prism.runtime.build import entry_of
from prism.runtime.compile import compile_cubin
from prism.runtime.instance import instance

BYTES = {"mixed": b"\xff\x02\x00\x01\x80", "true": b"\x01\xff\x02", "rarely": b"\x00" * 999 + b"\x40", "false": b"\x00"}
CUMULATIVE = {
    "cumsum": np.cumsum,
    "cumprod": np.cumprod,
    "cummax": np.maximum.accumulate,
    "cummin": np.minimum.accumulate,
}
REDUCED = ("sum", "prod", "max", "min", "any", "all", "count_nonzero", "argmax", "argmin")
SHAPES = [
    ((3000,), None),
    ((3000,), 0),
    ((1000, 3), 0),
    ((1000, 3), 1),
    ((3, 1000), 0),
    ((3, 1000), 1),
    ((10, 30, 10), 1),
]


def odd(kind: str, size: int = 3000) -> tuple[Any, Any]:
    """Bools of such bytes, and the same as NumPy makes them."""
    given = np.frombuffer((BYTES[kind] * size)[:size], bool)
    return given, given.view(np.uint8) != 0


def same(found: Any, wanted: Any) -> bool:
    """Whether two results are the same, byte by byte: true is 1."""
    one, two = np.asarray(found), np.asarray(wanted)
    return one.dtype == two.dtype and one.shape == two.shape and one.tobytes() == two.tobytes()


@pytest.mark.covering(1)
@pytest.mark.parametrize("kind", BYTES)
@pytest.mark.parametrize("name", REDUCED)
def test_reductions(name: str, kind: str) -> None:
    given, plain = odd(kind)
    for shape, axis in SHAPES:
        found = getattr(lib, name)(given.reshape(shape), axis=axis)
        assert same(found, getattr(np, name)(plain.reshape(shape), axis=axis)), (shape, axis)


@pytest.mark.parametrize("kind", BYTES)
def test_reductions_of_another_dtype(kind: str) -> None:
    given, plain = odd(kind)
    for dtype in ("int8", "int64", "float32"):
        for op in ("add", "multiply", "maximum"):
            assert lib.reduce(given, op, dtype=dtype) == getattr(np, op).reduce(plain.astype(dtype), dtype=dtype)
    assert lib.sum(given[::-3]) == plain[::-3].sum()  # not contiguous


@pytest.mark.parametrize("kind", BYTES)
@pytest.mark.parametrize("name", CUMULATIVE)
def test_cumulative(name: str, kind: str) -> None:
    given, plain = odd(kind)
    for shape, axis in SHAPES[1:]:
        found = getattr(lib, name)(given.reshape(shape), axis=axis)
        assert same(found, CUMULATIVE[name](plain.reshape(shape), axis=axis)), (shape, axis)
    for reverse in (False, True):
        wanted = np.cumsum(plain[::-1])[::-1] if reverse else np.cumsum(plain)
        assert same(lib.scan(given, "add", dtype=np.int64, reverse=reverse), wanted)


@pytest.mark.parametrize("kind", BYTES)
def test_segments_and_keys(kind: str) -> None:
    given, plain = odd(kind)
    offsets = np.array([0, 7, 7, 1000, 2999, 3000])
    sums = [plain[i:j].sum() for i, j in zip(offsets, offsets[1:], strict=False)]
    assert lib.segmented_reduce(given, offsets, "add", dtype=np.int64).tolist() == sums
    assert same(lib.segmented_scan(given, offsets[:1], "add", dtype=np.int64), np.cumsum(plain))
    heads = np.flatnonzero(np.r_[True, plain[1:] != plain[:-1]])
    keys, lengths = lib.reduce_by_key(given, np.ones(3000, np.int64))
    assert same(keys, plain[heads]) and same(lengths, np.diff(np.r_[heads, 3000]))
    assert lib.reduce_by_key(np.zeros(3000, np.int32), given, dtype=np.int64)[1].tolist() == [plain.sum()]
    assert lib.scan_by_key(given, given, dtype=np.int64)[-1] == plain[heads[-1] :].sum()


def test_what_runs_on_a_gpu_looks_at_the_bytes() -> None:
    """Where bools are combined in another type, and where they are not."""
    for operator, result in (("add", "int64"), ("maximum", "bool")):
        for shape in (*(Shape(1, 1 << log, 1, True) for log in (8, 20, 24)), Shape(64, 1000, 1000, True)):
            way = scan_plans.on_device(Task(BY_NAME[operator], "bool", result), shape, 132)
            entry = entry_of(instance(way.kernel, tuple(way.template.items())).program, "sm_90a")
            packed = way.template.get("FORM") == kernels.OR  # it looks at four bytes at once
            assert packed != ("px_truth(" in entry.source) and packed == (result == "bool" and shape.size == 1 << 24)
    compile_cubin(entry.source, "sm_90a")
    for what in reductions.NAMED:
        work = reduce_calls.work_of(what, np.dtype(bool))
        assert work is None or work.nonzero
    for extreme, same in (("max", "any"), ("min", "all")):  # by the same kernels
        one, other = (next(what for what in reductions.NAMED if what.name == name) for name in (extreme, same))
        given = describe(np.zeros((40, 70), bool))
        plans = [
            reduce_calls.decide_reduction(
                what, given, 1, False, None, None, None, "a", shipped_kernels._Gpu("sm_90a", 132)
            ).plan
            for what in (one, other)
        ]
        assert plans[0] is not None and plans[0] == plans[1]
    assert reduce_calls.search_of(True, np.dtype(bool)).template()["BEATS"].__name__ == "truer"
