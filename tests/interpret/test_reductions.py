"""Bulk reductions on the reference machine: sums and others of every type, many blocks at one place, and what is a race."""
# ruff: noqa: F821, I001 -- names that the kernels declare

from __future__ import annotations

import numpy as np
import pytest

import prism
from prism.interpret import SCHEDULES, MachineError, run
from prism.lang import (
    CUtensorMap, CompileError, atomic_add, block, bulk_reduce, bulk_store, claim, float32, grid, group, id, int32, one,
    partition, ptr, requires, shared, thread, tma_reduce,
)  # fmt: skip
from prism.lang.tree.plan import WaitGroup
from prism.lang.types import BFLOAT16
from prism.lang.types.shorts import bf16_bits, bf16_values
from tests.interpret.reduction_kernels import reduced, reduced_heads, reduced_parts
from tests.lang.plans import told
from tests.mutation import TRIED, score

STEPS = {
    "add": np.add,
    "min": np.fmin,
    "max": np.fmax,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
KINDS = [(kind, op) for kind in ("int32", "uint32", "int64", "uint64") for op in STEPS]
KINDS += [(kind, "add") for kind in ("float16", "float32", "float64")] + [("float16", "min"), ("float16", "max")]
STRANGE = np.array([np.nan, 1, np.nan, -0.0, 0.0, 6e-8, -6e-8, np.inf, -np.inf], np.float16)
BESIDE = np.array([1, np.nan, np.nan, 0.0, -0.0, 0, 0, -np.inf, np.nan], np.float16)
LEAST = np.array([1, 1, np.nan, -0.0, -0.0, 0, -6e-8, -np.inf, -np.inf], np.float16)
GREATEST = np.array([1, 1, np.nan, 0.0, 0.0, 6e-8, 0, np.inf, -np.inf], np.float16)
"""Halves, and the least and the greatest of each two."""


def numbers(shape, kind):
    """Return numbers whose sums are exact, of any type."""
    rng = np.random.default_rng(0)
    return rng.integers(-9, 10, shape).astype(kind) if kind[0] == "f" else rng.integers(0, 1 << 62, shape).astype(kind)


def template(kind, op, **more):
    return {"T": np.dtype(kind) if isinstance(kind, str) else kind, "OP": [*STEPS].index(op), **more}


@pytest.mark.parametrize(("kind", "op"), KINDS)
def test_blocks_reduce_into_one_place(kind, op):
    x, first = numbers((3, 4, 256), kind), numbers(256, kind)
    wanted = STEPS[op].reduce(np.concatenate([x.reshape(12, 256), first[None]])).astype(kind)
    for schedule in ("round-robin", "late", "random"):
        y = first.copy()
        reduced[3, 64](x, y, 4, template=template(kind, op), check=True, schedule=schedule)
        assert np.array_equal(y, wanted)


@pytest.mark.parametrize(("op", "wanted"), [("min", LEAST), ("max", GREATEST)])
@pytest.mark.parametrize("kind", ["float16", BFLOAT16])
def test_of_a_nan_and_a_number_the_number_is_taken(kind, op, wanted):
    x, y, z = (np.resize(a, 256) for a in (STRANGE, BESIDE, wanted))
    if kind == BFLOAT16:
        x, y, z = (bf16_bits(a.astype(np.float32)) for a in (x, y, z))
    reduced[1, 64](x, y, 1, template=template(kind, op), check=True)
    assert same_bits(y, z)


def same_bits(one, two):
    """Whether floats of 16 bits are the same, NaNs aside."""
    if one.dtype == np.uint16:
        one, two = bf16_values(one), bf16_values(two)
    numbers = ~np.isnan(one)
    return np.array_equal(one, two, equal_nan=True) and np.array_equal(
        np.signbit(one[numbers]), np.signbit(two[numbers])
    )


@pytest.mark.parametrize("n", [0, 8, 16])
def test_threads_reduce_where_their_neighbours_do(n):
    x, y = numbers((2, 64, 16), "float32"), np.zeros((65, 16), np.float32)
    reduced_parts[2, 64](x, y, n, template=template("float32", "add"), check=True)
    own = x.sum(axis=0)
    own[:, n:] = 0
    wanted = np.zeros_like(y)
    wanted[:-1] += own
    wanted[1:] += own
    assert np.array_equal(y, wanted)


@pytest.mark.parametrize(("columns", "span"), [(64, 128), (128, 128), (8, 0)])
def test_boxes_of_a_tensor_are_clipped(columns, span):
    """bfloat16 in bits: the sum of the heads is exact, and rounds to nearest once; behind the last row nothing changes."""
    heads = np.random.default_rng(0).integers(-40, 41, (2, 3, 21, columns)).astype(np.float32)
    room = np.full((2, 1, 24, columns), bf16_bits(np.float32(7)), np.uint16)
    x, y = bf16_bits(heads), room[:, :, :21]
    reduced_heads[6, 64](x, y, 3, 21, template=template(BFLOAT16, "add", D=columns, SPAN=span), check=True)
    assert (
        np.array_equal(bf16_values(room[:, 0, :21]), heads.sum(axis=1) + 7)
        and (bf16_values(room[:, :, 21:]) == 7).all()
    )


@pytest.mark.parametrize("op", ["min", "xor"])
def test_boxes_of_integers(op):
    x, y = numbers((2, 3, 21, 32), "int32"), numbers((2, 1, 21, 32), "int32")
    wanted = STEPS[op].reduce(np.concatenate([x, y], axis=1), axis=1)
    reduced_heads[6, 64](x, y, 3, 21, template=template("int32", op, D=32, SPAN=128), check=True)
    assert np.array_equal(y[:, 0], wanted)


def test_each_wait_is_needed():
    """Of both plans: a wait, a fence, a barrier or an arrival left out is found."""
    x, y = numbers((2, 3, 256), "int32"), np.zeros(256, np.int32)
    heads, sums = numbers((1, 3, 37, 32), "int32"), np.zeros((1, 1, 37, 32), np.int32)

    def right(built, **options):
        given = [(x, y.copy(), 3), (heads, sums.copy(), 3, 37)][built is not plain and built.entry.name != "reduced"]
        run(built, 2 if len(given) == 3 else 3, 64, [*given], **options)
        wanted = (
            x.reshape(6, 256).sum(axis=0, dtype=np.int32)
            if len(given) == 3
            else heads.sum(axis=1, keepdims=True, dtype=np.int32)
        )
        return np.array_equal(given[1], wanted)

    plain = prism.check(reduced, template("int32", "add"))
    for built in (plain, prism.check(reduced_heads, template("int32", "add", D=32, SPAN=128))):
        found = score(built, right, 64, TRIED)
        assert found.wrong and not found.survivors and not found.excused


# -- what they order with -------------------------------------------------------------------------------------------------


@prism("global")
@requires(grid[1], block[1], thread[64])
def seen(y: ptr(float32) @ grid[1]):
    """A block clears its part, reduces into it, and reads it."""
    with partition(y, block[1], 64 * id()) as out, group(block[1]):
        s: shared(float32[64])
        t: int32 @ thread[1] = id()
        with partition(s, thread[1], t) as mine, group(thread[1]):
            mine[0] = t
        with partition(out, thread[1], t) as mine, group(thread[1]):
            mine[0] = 1
        with one(thread):
            bulk_reduce(out[0], s)
            bulk_reduce(out[0], s)
        with partition(out, thread[1], t) as mine, group(thread[1]):
            mine[0] *= 2


def test_what_comes_before_and_after_in_the_block_is_ordered():
    """A fence and a barrier for what threads wrote, none between two reductions, a whole wait and a barrier before reads."""
    assert told(seen) == [
        "9 < fence",
        "9 < block block[1]",
        "10 > commit bulk",
        "11 > commit bulk",
        "12 < pending bulk 0",
        "12 < block block[1]",
    ]
    assert 'asm volatile("fence.proxy.async;"' in prism.compile(seen, arch="sm_90").cuda, "of global memory too"
    y = np.zeros(128, np.float32)
    seen[2, 64](y, check=True)
    assert np.array_equal(y, np.tile(2 + 4 * np.arange(64, dtype=np.float32), 2))


@prism("global")
@requires(grid[1], block[1], thread[64])
def with_atomics(y: ptr(float32) @ grid[1]):
    """A block's threads and the copy engine add to its own part, in turns: what either does is not atomic to the other."""
    with partition(y, block[1], 64 * id()) as out, group(block[1]):
        s: shared(float32[64])
        t: int32 @ thread[1] = id()
        with partition(s, thread[1], t) as mine, group(thread[1]):
            mine[0] = t
        with group(thread[1]):
            atomic_add(out[63 - t], 1.0)
        with one(thread):
            bulk_reduce(out[0], s)
        with group(thread[1]):
            atomic_add(out[63 - t], 1.0)


@prism("global")
@requires(grid[1], block[1], thread[64])
def among_blocks(y: ptr(float32) @ grid[1]):
    """The same, of a place that all blocks have in common."""
    with group(block[1]):
        s: shared(float32[64])
        t: int32 @ thread[1] = id()
        with partition(s, thread[1], t) as mine, group(thread[1]):
            mine[0] = t
        with one(thread):
            bulk_reduce(y[0], s)
        with group(thread[1]):
            atomic_add(y[63 - t], 1.0)


@prism("global")
@requires(grid[1], block[1], thread[64])
def stored_first(y: ptr(float32) @ grid[1]):
    """A store and a reduction of one thread go to one place."""
    with partition(y, block[1], 64 * id()) as out, group(block[1]):
        s: shared(float32[64])
        t: int32 @ thread[1] = id()
        with partition(s, thread[1], t) as mine, group(thread[1]):
            mine[0] = t
        with claim(out, thread[1]) as o, one(thread):
            bulk_store(o[0], s)
            bulk_reduce(o[0], s)


@prism("global")
@requires(grid[1], block[2], thread[32])
def by_a_cluster(y: CUtensorMap(float32, 1, 1, 32) @ grid[1]):
    """All blocks of a cluster add to one place: a store of theirs would be refused."""
    with group(block[2]), group(block[1]):
        s: shared(float32[32])
        t: int32 @ thread[1] = id()
        with partition(s, thread[1], t) as mine, group(thread[1]):
            mine[0] = t
        with one(thread):
            tma_reduce(y[0, 0, 0], s)


def test_the_blocks_of_a_cluster_add_to_one_place():
    y = np.zeros((1, 1, 30), np.float32)
    by_a_cluster[6, 32](y[:, :, :28], check=True)
    assert np.array_equal(y[0, 0], [*(6 * np.arange(28)), 0, 0])


@pytest.mark.parametrize(("kernel", "each"), [(with_atomics, np.arange(64) + 2), (stored_first, 2 * np.arange(64))])
def test_what_is_not_atomic_to_it_waits(kernel, each):
    """Each wait, fence and barrier between them is needed, and enough."""

    def right(built, **options):
        y = np.zeros(128, np.float32)
        run(built, 2, 64, [y], **options)
        return np.array_equal(y, np.tile(each, 2))

    built = prism.check(kernel)
    assert all(right(built, check=True, schedule=schedule) for schedule in SCHEDULES)
    found = score(built, right, 64, TRIED)
    assert found.wrong and not found.survivors and not found.excused


def test_blocks_cannot_take_turns():
    with pytest.raises(CompileError) as caught:
        prism.check(among_blocks)
    assert caught.value.code == "grid-sync" and "this atomic may meet another block's reduction" in str(caught.value)


def test_the_machine_says_what_is_not_atomic_to_what():
    built = prism.check(with_atomics)
    (plan,) = built.plans.values()
    wait = next(op for op in plan.operations if isinstance(op, WaitGroup) and not op.read)
    mutant = built.with_plan(plan.drop_step(wait))
    with pytest.raises(MachineError) as caught:
        run(mutant, 1, 64, [np.zeros(64, np.float32)], check=True, schedule="late")
    assert "are so to one another alone" in str(caught.value)
