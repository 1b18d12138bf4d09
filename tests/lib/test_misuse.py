"""The mistakes that CUB's documentation warns of: here they do not compile, or cannot be written at all."""

# ruff: noqa: F821 - kernels declare registers and shared memory without a value

from collections.abc import Callable

import numpy as np
import pytest

import prism as package
from prism import CompileError
from prism.interpret import RaceError, run
from prism.lang import (
    attr,
    block,
    claim,
    const,
    float32,
    grid,
    group,
    id,
    int32,
    partition,
    prism,
    ptr,
    requires,
    shared,
    split,
    thread,
    uint32,
    warp,
)
from prism.lib.thread import operators
from tests.lib.oracles import SCHEDULES
from tests.mutation import without_barriers


@prism("global")
@requires(grid[1], block[1], thread[64])
def one_warp_reduces_for_the_block(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, block[1]) as target, group(block[1]):
        match split(warp):
            case 1:
                value: float32 @ thread[1] = x[i]
                block.reduce_into(target, value, OP=operators.add)


@prism("global")
@requires(grid[1], block[1], thread[64])
def threads_in_a_branch_reduce(x: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1], n: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i) as mine, group(block[1]):
        value: float32 @ thread[1] = 0
        if i < n:
            value = block.reduce(x[i], OP=operators.add)
        with group(thread[1]):
            mine[0] = value


@prism("global")
@requires(grid[1], thread[32])
def half_a_warp_scans(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i) as mine, group(thread[16]):
        items: int32[1] @ thread[1]
        with group(thread[1]):
            items[0] = x[i]
        warp.scan(items, 0, WIDTH=1, OP=operators.add, EXCLUSIVE=False)
        with group(thread[1]):
            mine[0] = items[0]


@prism("global")
@requires(grid[1], block[1], thread[32])
def valid_differs_from_thread_to_thread(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i) as mine, group(block[1]):
        value: int32 @ thread[1] = x[i]
        total: int32 @ block[1] = block.reduce_valid(value, n - i, 0, OP=operators.add)
        with group(thread[1]):
            mine[0] = total


@prism("global")
@requires(grid[1], block[1], thread[32])
def a_start_for_each_thread(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i) as mine, group(block[1]):
        items: int32[1] @ thread[1]
        with group(thread[1]):
            items[0] = x[i]
        block.scan_initial(items, i, WIDTH=1, OP=operators.add, EXCLUSIVE=True)
        with group(thread[1]):
            mine[0] = items[0]


@prism("global")
@requires(grid[1], block[1], thread[32])
def a_tile_for_each_thread(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(x, thread[1], 4 * i) as source, partition(y, thread[1], 4 * i) as mine, group(block[1]):
        items: int32[4] @ thread[1]
        block.load(source, items, n, 0, WIDTH=4, VECTORIZED=True)
        with group(thread[1]):
            for k in range(4):
                mine[k] = items[k]


@prism("global")
@requires(grid[1], block[1], thread[32])
def the_first_threads_sum_for_all(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i) as mine, group(block[1]):
        value: int32 @ thread[1] = x[i]
        total: int32 @ block[1] = warp.reduce(value, OP=operators.add)  # a warp's is not the block's
        with group(thread[1]):
            mine[0] = total


@prism("global")
@attr("__launch_bounds__(128)")
@requires(grid[1], block[1], warp[4])
def two_groups_share_their_scratch(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1]):
    t: int32 @ thread[1] = id()
    with partition(y, thread[1], t) as mine, group(block[1]):
        scratch: shared(int32[2])
        value: int32 @ thread[1] = x[t]
        with claim(scratch, thread[64]) as desk:
            match split(warp):
                case 2:
                    value = warp.reduce_across(value, desk, OP=operators.add, SIZE=64)
                case 2:
                    value = warp.reduce_across(value, desk, OP=operators.maximum, SIZE=64)
        with group(thread[1]):
            mine[0] = value


@prism("global")
@requires(grid[1], block[1], thread[32])
def bins_without_atomics(x: ptr(const(int32)) @ grid[1], y: ptr(uint32) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, block[1]) as target, group(block[1]):
        bins: shared(uint32[8])
        block.fill(bins, 0, 8)
        with group(thread[1]):
            bins[x[i]] += 1


MISTAKES = [
    (one_warp_reduces_for_the_block, "call-bound"),
    (threads_in_a_branch_reduce, "cond"),
    (half_a_warp_scans, "call-bound"),
    (valid_differs_from_thread_to_thread, "call-scalar"),
    (a_start_for_each_thread, "call-scalar"),
    (a_tile_for_each_thread, "call-ptr"),
    (the_first_threads_sum_for_all, "write-down"),
    (two_groups_share_their_scratch, "claim-one"),
    (bins_without_atomics, "ptr-write"),
]


@pytest.mark.parametrize(("kernel", "code"), MISTAKES, ids=lambda x: getattr(x, "__name__", x))
def test_it_does_not_compile(kernel, code: str) -> None:
    with pytest.raises(CompileError) as caught:
        package.check(kernel)
    assert code in {error.code for error in caught.value.errors}


@prism("global")
@requires(grid[1], block[1], thread[32])
def scratch_again_and_again(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], rounds: int32 @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(y, thread[1], i) as mine, group(block[1]):
        value: int32 @ thread[1] = x[i]
        for _ in range(rounds):
            items: int32[1] @ thread[1]
            with group(thread[1]):
                items[0] = value
            total: int32 @ block[1] = block.scan(items, 0, WIDTH=1, OP=operators.add, EXCLUSIVE=True)
            value = block.reduce(items[0], OP=operators.maximum)
            value += total
        with group(thread[1]):
            mine[0] = value


def test_the_barrier_before_scratch_is_used_again_is_inferred() -> None:
    """CUB's user writes `__syncthreads()` between two uses of a TempStorage. Here the scan's barrier stands between two uses of
    the reduction's scratch, and the reduction's between two of the scan's: the compiler has found that no more are needed."""
    program = package.check(scratch_again_and_again)
    x = np.arange(96, dtype=np.int32)
    run(program, 1, 96, (x, np.zeros_like(x), 3), check=True)
    mutants = without_barriers(program)
    assert [barrier.kind for barrier, _ in mutants] == ["block", "block"]
    for _, mutant in mutants:
        with pytest.raises(RaceError):
            for schedule, seed in SCHEDULES:
                run(mutant, 1, 96, (x, np.zeros_like(x), 3), check=True, schedule=schedule, seed=seed)


def test_wrong_options_are_named() -> None:
    """Not Python's own words for what it could not do with them."""
    x, q = np.ones((4, 8), np.float32), np.zeros((1, 1, 4, 8), np.float16)
    calls: dict[str, Callable[[], object]] = {
        "`range` must be a pair": lambda: package.lib.histogram(x, 3, range=5),
        "`range` must be a pair of": lambda: package.lib.histogram2d(x[0], x[1], 3, range=[[0, 1, 2], [0, 1]]),
        "`axes` must be a sequence": lambda: package.lib.permute(x, 3),
        "`axes` must be": lambda: package.lib.permute(x, one_warp_reduces_for_the_block),
        "`approximate` must be one of": lambda: package.lib.gelu(x, approximate=["tanh"]),
        "`gate` must be one of": lambda: package.lib.swiglu(x, gate={}),
        "`method`: ": lambda: package.lib.quantile(x, 0.5, method=["linear"]),
        "`lse` is True or False": lambda: package.lib.attention(q, q, q, lse="yes"),
        "`k` must be an integer": lambda: package.lib.unpack_weights(np.zeros((1, 1, 128), np.int32), "8", 2),
        "`dtype` must be a dtype": lambda: package.lib.cumsum(x, dtype=np.float32(0)),
    }
    for says, call in calls.items():
        with pytest.raises((TypeError, ValueError), match=says):
            call()


def test_differences_of_a_very_large_order_end() -> None:
    assert package.lib.diff(np.arange(5), n=1 << 70).shape == np.diff(np.arange(5), n=6).shape == (0,)
    assert package.lib.diff(np.arange(5), n=4).tolist() == [0]
    out = np.zeros(0, int)
    assert package.lib.diff(np.arange(5), n=1 << 70, out=out) is out


def test_what_has_a_subscript_is_no_sequence() -> None:
    """Python asks what has one for its elements, one after the other, until there is an error."""
    for each in (one_warp_reduces_for_the_block, float32, ptr(float32), block):
        with pytest.raises(TypeError, match="not iterable"):
            iter(each)


@prism("global")
@requires(grid[1], thread[1])
def numbers(x: ptr(int32) @ grid[1]):
    i: int32 @ thread[1] = id()
    with partition(x, thread[1], i) as mine, group(thread[1]):
        mine[0] = i


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.int64])
def test_shapes_of_launches_are_any_integers(kind: type) -> None:
    x = np.zeros(300, np.int32)
    numbers[kind(3), kind(100)](x)
    assert np.array_equal(x, range(300))
