"""Bulk reductions on the GPU, of many blocks into one place, against NumPy: sums that are exact in any order."""

from __future__ import annotations

import numpy as np
import pytest

from prism.lang.types import BFLOAT16
from prism.lang.types.shorts import bf16_bits, bf16_values
from tests.interpret.reduction_kernels import reduced, reduced_heads, reduced_parts
from tests.interpret.test_reductions import BESIDE, GREATEST, KINDS, LEAST, STEPS, STRANGE, numbers, same_bits, template

cupy = pytest.importorskip("cupy")


@pytest.mark.parametrize(("kind", "op"), KINDS)
def test_blocks_reduce_into_one_place(kind, op):
    blocks, trips = (300, 7) if kind != "float16" else (20, 7)  # sums of halves are exact up to 2048
    x, y = numbers((blocks * trips, 256), kind), numbers(256, kind)
    wanted = STEPS[op].reduce(np.concatenate([x, y[None]])).astype(kind)
    found = cupy.asarray(y)
    reduced[blocks, 64](cupy.asarray(x), found, trips, template=template(kind, op))
    assert np.array_equal(found.get(), wanted)


@pytest.mark.parametrize("n", [0, 8, 16])
def test_threads_reduce_where_their_neighbours_do(n):
    x, y = numbers((200, 64, 16), "float32"), cupy.zeros((65, 16), np.float32)
    reduced_parts[200, 64](cupy.asarray(x), y, n, template=template("float32", "add"))
    own = x.sum(axis=0)
    own[:, n:] = 0
    wanted = np.zeros((65, 16), np.float32)
    wanted[:-1] += own
    wanted[1:] += own
    assert np.array_equal(y.get(), wanted)


@pytest.mark.parametrize(("columns", "span"), [(64, 128), (128, 128), (8, 0)])
def test_boxes_of_bfloat16_are_clipped(columns, span):
    heads = np.random.default_rng(0).integers(-30, 31, (20, 4, 77, columns)).astype(np.float32)
    room = cupy.full((20, 1, 80, columns), bf16_bits(np.float32(7)), np.uint16)
    x = cupy.asarray(bf16_bits(heads))
    reduced_heads[80, 64](x, room[:, :, :77], 4, 77, template=template(BFLOAT16, "add", D=columns, SPAN=span))
    found = bf16_values(room.get())
    assert np.array_equal(found[:, 0, :77], heads.sum(axis=1) + 7) and (found[:, :, 77:] == 7).all()


@pytest.mark.parametrize(("kind", "op"), [pair for pair in KINDS if pair not in (("int64", "min"), ("int64", "max"))])
def test_boxes_of_every_type(kind, op):
    x, y = numbers((20, 4, 77, 32), kind), numbers((20, 1, 77, 32), kind)
    wanted = STEPS[op].reduce(np.concatenate([x, y], axis=1), axis=1).astype(kind)
    found, span = cupy.asarray(y), min(128, 32 * x.itemsize)
    reduced_heads[80, 64](cupy.asarray(x), found, 4, 77, template=template(kind, op, D=32, SPAN=span))
    assert np.array_equal(found.get()[:, 0], wanted)


def test_small_numbers_are_not_zeros():
    """Unlike `atomic_add` of float32, which takes subnormal numbers for zeros, the engine adds them as NumPy does."""
    x, y = (np.float32([a, -1e-40, 1.2e-38, 0]).repeat(64) for a in (1e-40, 1e-41))
    found = cupy.asarray(y)
    reduced[1, 64](cupy.asarray(x), found, 1, template=template("float32", "add"))
    assert np.array_equal(found.get(), x + y)


@pytest.mark.parametrize(("op", "wanted"), [("min", LEAST), ("max", GREATEST)])
@pytest.mark.parametrize("kind", ["float16", BFLOAT16])
def test_of_a_nan_and_a_number_the_number_is_taken(kind, op, wanted):
    x, y, z = (np.resize(a, 512) for a in (STRANGE, BESIDE, wanted))
    if kind == BFLOAT16:
        x, y, z = (bf16_bits(a.astype(np.float32)) for a in (x, y, z))
    found, box = cupy.asarray(y[:256]), cupy.asarray(y.reshape(1, 1, 16, 32))
    reduced[1, 64](cupy.asarray(x[:256]), found, 1, template=template(kind, op))
    reduced_heads[1, 64](cupy.asarray(x.reshape(box.shape)), box, 1, 16, template=template(kind, op, D=32, SPAN=64))
    assert same_bits(found.get(), z[:256]) and same_bits(box.get().ravel(), z)
