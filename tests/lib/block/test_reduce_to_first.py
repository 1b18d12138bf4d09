"""block.reduce_to_first and warp.reduce_to_first: the first has the result, of any operator and in every way that there is.

Tests of prism/lib/block/reduce.py and prism/lib/warp/reduce.py.
"""

# ruff: noqa: F821 - kernels declare registers without a value

import numpy as np
import pytest

import prism as package
from prism.interpret import RaceError, run
from prism.lang import (
    block,
    const,
    constexpr,
    dtype,
    function,
    grid,
    group,
    id,
    partition,
    prism,
    ptr,
    requires,
    template,
    thread,
    warp,
)
from tests.lib.oracles import CASES, SCHEDULES, Case, case
from tests.mutation import without_barriers

MORE = [*CASES, case("add", "uint64"), case("maximum", "uint64"), case("maximum", "int32"), case("minimum", "uint32")]
"""Those that have instructions of their own, too."""


@prism("global")
@template(T=dtype, OP=function, THREADS=constexpr(int), FEW=constexpr(bool), TENSOR=constexpr(bool))
@requires(grid[1], block[1], thread[32])
def firsts(x: ptr(const(T)) @ grid[1], y: ptr(T) @ grid[1], z: ptr(T) @ grid[1], identity: T @ grid[1]):
    with partition(y, thread[1], id()) as of_block, partition(z, thread[1], id()) as of_warp, group(block[1]):
        value: T @ thread[1] = x[id()]
        ours: T @ thread[1] = block.reduce_to_first(value, identity, OP=OP, MOST=THREADS, TENSOR=TENSOR)
        theirs: T @ thread[1] = value
        with group(thread[32]):
            theirs = warp.reduce_to_first(value, OP=OP, FEW=FEW, TENSOR=TENSOR)
        with group(thread[1]):
            of_block[0] = ours
            of_warp[0] = theirs


def program(case: Case, *, few: bool = True, tensor: bool = False, threads: int = 1024):
    template = {"T": str(case.dtype), "OP": case.function, "THREADS": threads, "FEW": few, "TENSOR": tensor}
    return package.check(firsts, template)


def compare(case: Case, threads: int, code, **options) -> None:
    x = case.data(threads)
    y, z = np.zeros_like(x), np.zeros_like(x)
    run(code, 1, threads, (x, y, z, case.identity), check=True, **options)
    assert y[0] == case.inclusive(x)[-1]
    assert np.array_equal(z[::32], [case.inclusive(part)[-1] for part in x.reshape(-1, 32)])


@pytest.mark.parametrize("few", [False, True])
@pytest.mark.parametrize("case", MORE, ids=str)
def test_operators(case: Case, few: bool) -> None:
    for threads in (32, 96, 256):
        compare(case, threads, program(case, few=few, threads=256 if few else 1024))


def test_tensor_cores_add_floats_of_64_bits() -> None:
    compare(case("add", "float64"), 96, program(case("add", "float64"), tensor=True))


def test_its_barrier_is_needed() -> None:
    code = program(CASES[0])
    for schedule, seed in SCHEDULES:
        compare(CASES[0], 96, code, schedule=schedule, seed=seed)
    ((_, mutant),) = without_barriers(code)
    with pytest.raises(RaceError):
        for schedule, seed in SCHEDULES:
            compare(CASES[0], 96, mutant, schedule=schedule, seed=seed)


@pytest.mark.parametrize("kind", ["int32", "uint64", "float32", "float64"])
def test_they_compile(kind: str) -> None:
    template = {"T": kind, "OP": CASES[0].function, "THREADS": 256, "FEW": True, "TENSOR": kind == "float64"}
    assert package.compile(firsts, template).cubin
