"""Bulk reductions: what they compile to, for every operation and type, and what is refused."""

import pytest

from prism.lang.intrinsics import TABLE
from prism.lang.intrinsics.copies import CACHES
from prism.lang.types import (
    BFLOAT16,
    BOOL,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT16,
    INT32,
    INT64,
    UINT8,
    UINT32,
    UINT64,
    TensorMap,
)  # fmt: skip
from tests.lang.intrinsics.test_copies import binding, ptx_of, shared, use

INTEGERS = (INT32, UINT32, INT64, UINT64)
TYPES = {
    **{("add", scalar): f"add.u{scalar.bits}" for scalar in INTEGERS},
    **{(op, scalar): f"{op}.{scalar.name[0].replace('i', 's')}{scalar.bits}" for op in ("min", "max") for scalar in INTEGERS},
    **{(op, scalar): f"{op}.b{scalar.bits}" for op in ("and", "or", "xor") for scalar in INTEGERS},
    ("min", FLOAT16): "min.f16", ("max", BFLOAT16): "max.bf16",
    ("add", FLOAT16): "add.noftz.f16", ("add", BFLOAT16): "add.noftz.bf16",
    ("add", FLOAT32): "add.f32", ("add", FLOAT64): "add.f64",
}  # fmt: skip


@pytest.mark.parametrize("cache", CACHES)
def test_bulk_reductions(nvrtc, cache):
    calls = []
    for op, scalar in TYPES:
        found = binding(shared(scalar, 64), "source", op=op, cache=cache)
        calls += [use("bulk_reduce", found, "q", "s")]
        calls += [use("bulk_reduce", found, "q", "s", "i * 4")]
    ptx = ptx_of(nvrtc, *calls)
    hint, policy = (".L2::cache_hint", ", %") if cache else ("", "")
    for what in TYPES.values():
        types = [*TYPES.values()].count(what)  # two, of what does not depend on the sign
        assert (
            ptx.count(f"cp.reduce.async.bulk.global.shared::cta.bulk_group{hint}.{what} [%], [%], %{policy};")
            == 2 * types
        )


@pytest.mark.parametrize("rank", [1, 2, 3, 4, 5])
def test_tensor_reductions(nvrtc, rank):
    box = (2, 4, 8, 4, 16)[-rank:]
    indices = [*(f"j + {k}" for k in range(rank - 1)), "i"]
    ops = ("add", "min", "max", "and", "or", "xor")
    calls = [
        use(
            "tma_reduce",
            binding(shared(INT32, *box), tensor=TensorMap(INT32, box), op=op, cache=cache),
            "&map",
            *indices,
            "s",
        )
        for op in ops
        for cache in ("", "evict_first")
    ]
    ptx, at = ptx_of(nvrtc, *calls), "{" + ", ".join(["%"] * rank) + "}"
    for op in ops:
        what = f"cp.reduce.async.bulk.tensor.{rank}d.global.shared::cta.{op}.tile.bulk_group"
        assert f"{what} [%, {at}], [%];" in ptx and f"{what}.L2::cache_hint [%, {at}], [%], %;" in ptx


def test_a_wide_tile_is_a_reduction_a_slab(nvrtc):
    tile, tensor = shared(BFLOAT16, 64, 256, swizzle=128), TensorMap(BFLOAT16, (1, 64, 1, 256), 128)
    call = use("tma_reduce", binding(tile, tensor=tensor), "&map", "0", "i", "j", "0", "s")
    assert "px_tma_add_4d<4, 8192, 64>" in call[1]
    assert ptx_of(nvrtc, call).count("cp.reduce.async.bulk.tensor.4d") == 4


@pytest.mark.parametrize(
    ("op", "element", "what"),
    [
        ("add", INT16, "there is no sum of int16"),
        ("add", UINT8, "there is no sum of uint8"),
        ("add", BOOL, "there is no sum of bool"),
        ("min", FLOAT32, "combines integers of 32 or 64 bits, and floats of 16, not float32"),
        ("max", UINT8, "combines integers of 32 or 64 bits, and floats of 16, not uint8"),
        ("and", FLOAT16, "combines integers of 32 or 64 bits, not float16"),
        ("xor", FLOAT64, "combines integers of 32 or 64 bits, not float64"),
        ("or", UINT8, "combines integers of 32 or 64 bits, not uint8"),
    ],
)
def test_what_the_engine_does_not_combine(op, element, what):
    assert what in TABLE["bulk_reduce"].problem(binding(shared(element, 64), "source", op=op))
    assert what in TABLE["tma_reduce"].problem(
        binding(shared(element, 4, 64), tensor=TensorMap(element, (4, 64)), op=op)
    )


@pytest.mark.parametrize("op", ["add", "min", "max", "and", "or", "xor"])
def test_a_tensor_map_does_not_tell_signs_of_64_bits(op):
    """On an H200 sums and operations of bits by a map of signed integers were an illegal instruction: maps have them unsigned."""
    found = TABLE["tma_reduce"].problem(binding(shared(INT64, 4, 16), tensor=TensorMap(INT64, (4, 16)), op=op))
    assert found == "" if op not in ("min", "max") else "without a sign" in found
    assert TABLE["bulk_reduce"].problem(binding(shared(INT64, 64), "source", op=op)) == ""


def test_what_is_no_copy_is_no_reduction():
    problem = TABLE["bulk_reduce"].problem
    assert "declare it without `swizzle=128`" in problem(binding(shared(BFLOAT16, 64, 64, swizzle=128), "source"))
    assert "a multiple of 16 bytes, and 5 float32 have 20" in problem(binding(shared(FLOAT32, 5), "source"))
    other = binding(shared(FLOAT32, 8, 16), tensor=TensorMap(FLOAT32, (4, 16)), start=(6, 0))
    assert "rows 6 to 9 are not in the tile" in TABLE["tma_reduce"].problem(other)
