"""Fragments: where every element is, as the PTX ISA's figures say; products as a plain loop gives them."""

from fractions import Fraction

import numpy as np
import pytest

from prism.lang.intrinsics import TABLE, Binding
from prism.lang.intrinsics.matrix import SHAPES, places
from prism.lang.types import BFLOAT16, FLOAT16, FLOAT32, UINT8

RNG = np.random.default_rng(11)


def element(shape, operand, lane, r, j):
    """Row and column of element j of register r, spelled out shape by shape as the ISA does (9.7.14.5)."""
    g, t = lane >> 2, lane & 3
    if operand == "c":
        return (g + 8 * r, t * 2 + j) if shape.per_total == 2 else (g + (8 if r >= 2 else 0), t * 2 + (r & 1))
    p = shape.per_register
    if operand == "b":
        return t * p + j + 4 * p * r, g
    if shape.m == 8:
        return g, t
    return g + (8 if r % 2 else 0), t * p + j + 4 * p * (r // 2)


def encode(values, kind):
    """Whole numbers as registers of this kind, packed along the last axis."""
    match kind:
        case "f64":
            return values[..., 0].astype(np.float64)
        case "tf32":
            return values[..., 0].astype(np.float32).view(np.uint32)
        case "f16":
            raw = values.astype(np.float16).view(np.uint16)
        case "bf16":
            raw = (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        case "e4m3" | "e5m2":
            exact = {0: 0, 1: 0x38, 2: 0x40, 3: 0x44} if kind == "e4m3" else {0: 0, 1: 0x3C, 2: 0x40, 3: 0x42}
            raw = np.array([exact[abs(v)] | (0x80 if v < 0 else 0) for v in values.ravel()], np.uint8).reshape(
                values.shape
            )
        case "s4" | "u4" | "b1":
            bits = 1 if kind == "b1" else 4
            parts = (values & (1 << bits) - 1) << np.arange(0, 32, bits)
            return parts.sum(axis=-1).astype(np.uint32)
        case _:
            raw = values.astype(np.int8 if kind == "s8" else np.uint8)
    return np.ascontiguousarray(raw).view(np.uint32)[..., 0]


def fragments(shape, operand, tile):
    """A tile's registers, lane by lane."""
    count = dict(zip("abc", shape.registers, strict=True))[operand]
    width = shape.per_total if operand == "c" else shape.per_register
    found = np.zeros((32, count, width), tile.dtype)
    for lane in range(32):
        for r in range(count):
            for j in range(width):
                found[lane, r, j] = tile[element(shape, operand, lane, r, j)]
    return found


def sums(shape, held):
    """A tile of sums, lane by lane, as registers."""
    return encode(held, "f16") if shape.per_total == 2 else held[..., 0].astype(shape.accumulator.numpy)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_products(shape):
    (kind_a, kind_b), ranges = shape.kinds, {"u8": (0, 4), "u4": (0, 16), "s4": (-8, 8), "b1": (0, 2)}
    a = RNG.integers(*ranges.get(kind_a, (-3, 4)), (2, shape.m, shape.k))
    b = RNG.integers(*ranges.get(kind_b, (-3, 4)), (2, shape.k, shape.n))
    c = RNG.integers(-100, 100, (2, shape.m, shape.n))
    x = np.stack([encode(fragments(shape, "a", tile), kind_a) for tile in a])
    y = np.stack([encode(fragments(shape, "b", tile), kind_b) for tile in b])
    z = np.stack([sums(shape, fragments(shape, "c", tile)) for tile in c])
    TABLE[f"mma_{shape.name}"].meaning(Binding(None), x, y, z)
    for warp in range(2):
        want = c[warp].copy()
        for i in range(shape.m):
            for j in range(shape.n):
                pairs = [(int(a[warp, i, k]), int(b[warp, k, j])) for k in range(shape.k)]
                want[i, j] += sum(p ^ q if shape.with_ == "xor" else p * q for p, q in pairs)
        assert (z[warp] == sums(shape, fragments(shape, "c", want))).all()


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape.kind == "f64"], ids=lambda shape: shape.name)
def test_products_of_float64_are_added_one_after_the_other(shape):
    """Each is rounded once, in the order of k, as an H200 does: `test_mma_is_what_it_means` of the GPU tests holds it."""
    a, b, c = (
        RNG.normal(size=extent) * 2.0 ** RNG.integers(-20, 20, extent)
        for extent in ((shape.m, shape.k), (shape.k, shape.n), (shape.m, shape.n))
    )
    x, y, z = (fragments(shape, name, tile)[None, ..., 0] for name, tile in zip("abc", (a, b, c), strict=True))
    TABLE[f"mma_{shape.name}"].meaning(Binding(None), x, y, z)
    want, down = c.copy(), c.copy()
    for total, order in ((want, range(shape.k)), (down, reversed(range(shape.k)))):
        for k in order:
            for i, j in np.ndindex(c.shape):
                total[i, j] = float(Fraction(a[i, k]) * Fraction(b[k, j]) + Fraction(total[i, j]))
    assert (z[0] == fragments(shape, "c", want)[..., 0]).all() and (want != down).any()
    for tile, each in ((a, 1.0), (b, -0.0), (c, -0.0)):
        tile[...] = each
    x, y, z = (fragments(shape, name, tile)[None, ..., 0] for name, tile in zip("abc", (a, b, c), strict=True))
    TABLE[f"mma_{shape.name}"].meaning(Binding(None), x, y, z)
    assert (z == 0).all() and np.signbit(z).all()


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_every_element_has_one_place(shape):
    for operand, extent in (("a", (shape.m, shape.k)), ("b", (shape.k, shape.n)), ("c", (shape.m, shape.n))):
        rows, columns = places(shape, operand)
        seen = np.zeros(extent, int)
        np.add.at(seen, (rows, columns), 1)
        assert (seen == 1).all()


def test_tf32_is_truncated():
    shape = next(s for s in SHAPES if s.name == "m16n8k8_tf32")
    one = np.float32(1 + 2**-10 + 2**-11).view(np.uint32)
    a, b = np.full((1, 32, 4), one), np.full((1, 32, 2), np.float32(1).view(np.uint32))
    c = np.zeros((1, 32, 4), np.float32)
    TABLE["mma_m16n8k8_tf32"].meaning(Binding(None), a, b, c)
    assert shape.k * (1 + 2**-10) == c[0, 0, 0] and (c == c[0, 0, 0]).all()


def test_the_form_of_the_paper_is_the_same_product():
    operands = [RNG.integers(0, 2**32, (2, 32), dtype=np.uint64).astype(np.uint32) & 0xBFFFFFFF for _ in range(6)]
    accumulators = [RNG.normal(size=(2, 32)).astype(np.float32) for _ in range(4)]
    for kind, name in (("tf32", "m16n8k8_tf32"), ("f16", "m16n8k16_f16"), ("bf16", "m16n8k16_bf16")):
        d = TABLE["mma"].meaning(Binding(None, {"kind": kind}), *operands, *accumulators)
        c = np.stack(accumulators, axis=-1)
        TABLE[f"mma_{name}"].meaning(Binding(None), np.stack(operands[:4], -1), np.stack(operands[4:], -1), c)
        assert np.array_equal(d, c, equal_nan=True)


class Shared:
    """Shared memory: a reference is an array of element indices."""

    def __init__(self, cells):
        self.cells, self.per_row = cells, None

    def require(self, reference, space):
        assert space == "shared"

    def align(self, reference, elements, where=None):
        assert (reference[where] % elements == 0).all()

    def load_row(self, reference, count, where=None):
        found = np.zeros((len(reference), count), self.cells.dtype)
        found[where] = self.cells[reference[where][:, None] + np.arange(count)]
        return found

    def store_row(self, reference, values, where=None):
        self.cells[reference[where][:, None] + np.arange(values.shape[1])] = values[where]


@pytest.mark.parametrize("trans", [False, True])
@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("scalar", [FLOAT16, BFLOAT16, FLOAT32, UINT8], ids=str)
def test_matrices_to_registers_and_back(scalar, count, trans):
    if trans and scalar.bits != 16:
        assert "16-bit" in TABLE["ldmatrix"].problem(Binding(scalar, {"trans": True}))
        return
    bits = RNG.integers(0, 2**14, (2, count, 8, 8)).astype(np.uint16)  # no NaN in any type
    held = (bits.astype(np.uint32) << 16).view(np.float32) if scalar == BFLOAT16 else bits.view(scalar.numpy)
    memory, per_row = Shared(held.ravel().copy()), 16 // scalar.bytes
    lanes = np.arange(64)
    rows = np.minimum((lanes // 32 * count * 8 + lanes % 32), 2 * count * 8 - 1) * per_row
    registers = np.zeros((64, count), np.uint32)
    binding = Binding(scalar, {"trans": trans}, {"registers": count})
    TABLE["ldmatrix"].meaning(binding, memory, rows, registers)
    for lane in lanes:
        g, t = lane % 32 >> 2, lane & 3
        for r in range(count):
            tile = bits[lane // 32, r]
            low, high = (tile[2 * t, g], tile[2 * t + 1, g]) if trans else (tile[g, 2 * t], tile[g, 2 * t + 1])
            assert registers[lane, r] == int(low) | int(high) << 16
    before, memory.cells = memory.cells, np.zeros_like(memory.cells)
    TABLE["stmatrix"].meaning(binding, memory, rows, registers)
    assert memory.cells.tobytes() == before.tobytes()
