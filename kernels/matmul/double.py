"""Products in float64, and complex128, by the tensor cores: a ring of tiles that all threads copy in, and multiply by `mma`.

A step of K takes the tensor cores long, so a tile need not be large: blocks share a multiprocessor, and one of them multiplies
while another one begins or ends a tile. Rows of shared tiles are longer by `PAD`: the eight rows and four columns that a warp
reads at a time then lie in different banks, whichever axis is inside.
"""

from __future__ import annotations

from dataclasses import dataclass

from prism.kernels.hgemm.main_loop import share_registers
from prism.kernels.sgemm.sums import place
from prism.lang import (
    assume, async_, attr, bitcast, block, claim, const, constexpr, cp_async, float64, function, grid, group, id, int2, int32,
    int64, mma_m8n8k4_f64, mma_m16n8k8_f64, mma_m16n8k16_f64, partition, prism, ptr, requires, roles, shared, template, thread,
    uint32, uint64, warp, warpgroup,
)  # fmt: skip
from prism.lang.surface import Kernel

PAD = 4
"""Elements that a row of a shared tile is longer than it must be."""


@dataclass(frozen=True)
class DoubleCut:
    """Tiles of `bm x bn`, `bk` of K at a time, with `stages` of these; warps are `down` by `across`, `blocks` a multiprocessor.

    `along_a`, `along_b`: elements of A, of B, lie side by side along K. `wide_a`, `wide_b`: pairs of elements begin at multiples
    of 16 bytes. `depth`: of K in an `mma`, 16 or 8, of 16 rows, as Hopper has it, or 4 of 8 rows. `complex`: a number of A is two
    real ones of K, one of the result two columns, and one of B stands for four, two by two. `helped`: four warps more copy.
    """

    bm: int = 64
    bn: int = 64
    bk: int = 16
    stages: int = 4
    down: int = 2
    across: int = 2
    blocks: int = 3
    along_a: bool = True
    along_b: bool = False
    wide_a: bool = True
    wide_b: bool = True
    depth: int = 16
    complex: bool = False
    helped: bool = False

    @property
    def warps(self) -> int:
        """Warps of a block."""
        return self.down * self.across

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * self.warps + (128 if self.helped else 0)

    @property
    def rows(self) -> int:
        """Rows of a warp."""
        return self.bm // self.down

    @property
    def columns(self) -> int:
        """Columns of a warp."""
        return self.bn // self.across

    @property
    def numbers(self) -> int:
        """Real numbers of an element."""
        return 2 if self.complex else 1

    @property
    def outer_a(self) -> int:
        """Rows of a shared tile of A."""
        return self.bm if self.along_a else self.bk // self.numbers

    @property
    def inner_a(self) -> int:
        """Elements of each."""
        return (self.bk if self.along_a else self.bm * self.numbers) + PAD

    @property
    def outer_b(self) -> int:
        """The same of B."""
        return (self.bn if self.along_b else self.bk) // self.numbers

    @property
    def inner_b(self) -> int:
        """Elements of each."""
        return (self.bk if self.along_b else self.bn) + PAD


HELPED = DoubleCut(128, 128, 16, 5, 4, 2, 1, helped=True)
TILES = (
    DoubleCut(64, 64, 16, 4, 2, 2, 3), DoubleCut(64, 32, 16, 4, 2, 2, 4), DoubleCut(16, 32, 32, 6, 1, 4, 2),
    DoubleCut(32, 32, 16, 4, 2, 2, 6),
)  # fmt: skip
"""Tiles that there are: large ones on a Hopper GPU, whose warps can give registers away; the others everywhere.

Those of 16 rows are for few rows, where all that counts is how much of `b` is under way.
"""
READ, PRODUCTS, BEGIN = 0.06, 128, 3000
"""Clocks of a byte that a multiprocessor reads; multiply-adds of a clock; clocks before the first step and after the last."""


def choose_double(m: int, n: int, k: int, processors: int, batches: int = 1, *, hopper: bool = False) -> DoubleCut:
    """Return the tiles that suit a product: about the fewest clocks for those who have most of them."""

    def clocks(cut: DoubleCut) -> float:
        tiles = batches * -(-m // cut.bm) * -(-n // cut.bn)
        rounds = -(-tiles // (processors * cut.blocks))
        beside = min(cut.blocks, -(-tiles // processors))  # blocks that share a multiprocessor
        work = max(cut.bm * cut.bn * k / PRODUCTS, READ * (cut.bm + cut.bn) * 8 * k)
        return rounds * beside * work + BEGIN

    return min((HELPED, *TILES) if hopper else TILES, key=clocks)


@prism.kernel
@template(CUT=constexpr(DoubleCut))
@requires(grid[1], block[1], thread["CUT.threads"])
@attr("__launch_bounds__(CUT.threads, CUT.blocks)")
def dgemm(
    A: ptr(const(float64)) @ grid[1], apart_a: int64 @ grid[1], batch_a: int64 @ grid[1], B: ptr(const(float64)) @ grid[1],
    apart_b: int64 @ grid[1], batch_b: int64 @ grid[1], out: ptr(float64) @ grid[1], stride: int64 @ grid[1],
    batch: int64 @ grid[1], m: int32 @ grid[1], n: int32 @ grid[1], k: int32 @ grid[1], group_m: int32 @ grid[1],
):  # fmt: skip
    """`out = A @ B`, for each of a batch of matrices, `batch_a`, `batch_b` and `batch` elements apart.

    Perspective: grid, of one block a tile, product by product; of each `group_m` rows of tiles before those below.
    Shapes:      `A`: m x k, its rows `apart_a` elements apart, or where not `CUT.along_a` its columns; `B`: k x n, its columns
                 `apart_b` elements apart, or where not `CUT.along_b` its rows; along the other axis elements lie side by side.
                 `out`: m x n, its rows `stride` elements apart. m, n are at least 1. Where `CUT.complex`, numbers of A and
                 `out` are pairs of real ones along k and n, and one of B is `re, im` above `-im, re`; m, n, k are of these.
    Cost:        `CUT.stages` tiles of A and B in shared memory, of which each step reads a part once for each warp.
    Numerics:    fused multiply-adds in float64, in the order of k.
    Test:        tests/kernels/test_matmul.py, tests/gpu/test_matmul.py
    """
    assume(m >= 1 and n >= 1 and group_m >= 1)
    tiles_m: int32 @ grid[1] = (m + (CUT.bm - 1)) // CUT.bm
    tiles_n: int32 @ grid[1] = (n + (CUT.bn - 1)) // CUT.bn
    p: int64 @ block[1] = uint32(id()) // uint32(tiles_m * tiles_n)
    tile: int32 @ block[1] = uint32(id()) % uint32(tiles_m * tiles_n)
    corner: int2 @ block[1] = place(tile, group_m, tiles_m, tiles_n)
    i: int32 @ block[1] = corner[0] * CUT.bm
    j: int32 @ block[1] = corner[1] * CUT.bn
    with partition(out, thread[1], lambda y, x: p * batch + y * stride + x, races="none") as target, group(block[1]):
        a: shared(float64[CUT.outer_a, CUT.inner_a], ring=CUT.stages, align=16)
        b: shared(float64[CUT.outer_b, CUT.inner_b], ring=CUT.stages, align=16)
        everyone = roles(warp, CUT.warps)

        @requires(block[1], thread["CUT.threads"])
        def fill(step: int32 @ block[1]):
            with partition(a, warpgroup[1]) as to, group(warpgroup[1]):
                copy_a(A, p * batch_a, apart_a, i, step, m, k, to, CUT=CUT)
            with partition(b, warpgroup[1]) as to, group(warpgroup[1]):
                copy_b(B, p * batch_b, apart_b, j, step, n, k, to, CUT=CUT)

        @requires(thread[1])
        def store(y: int32 @ thread[1], x: int32 @ thread[1], sum: float64 @ thread[1]):
            if y < m and x < n:
                target[y, x] = sum

        make_tile(a, b, everyone, i, j, k, CUT=CUT, FILL=fill, STORE=store)


@prism.kernel
@template(CUT=constexpr(DoubleCut))
@requires(grid[1], block[1], thread["CUT.threads"])
@attr("__launch_bounds__(CUT.threads, CUT.blocks)")
def dgemm_ring(
    A: ptr(const(float64)) @ grid[1], apart_a: int64 @ grid[1], batch_a: int64 @ grid[1], B: ptr(const(float64)) @ grid[1],
    apart_b: int64 @ grid[1], batch_b: int64 @ grid[1], out: ptr(float64) @ grid[1], stride: int64 @ grid[1],
    batch: int64 @ grid[1], m: int32 @ grid[1], n: int32 @ grid[1], k: int32 @ grid[1], group_m: int32 @ grid[1],
):  # fmt: skip
    """As `dgemm`, by tiles that four warps copy, and whose other warps only multiply: they meet at no barrier of the block.

    Perspective: as `dgemm`'s, of `CUT.threads` threads, 128 of which copy.
    Shapes:      as `dgemm`'s.
    Cost:        as `dgemm`'s.
    Numerics:    as `dgemm`'s: the same bits.
    Test:        tests/kernels/test_matmul.py, tests/gpu/test_matmul.py
    """
    assume(m >= 1 and n >= 1 and group_m >= 1)
    tiles_m: int32 @ grid[1] = (m + (CUT.bm - 1)) // CUT.bm
    tiles_n: int32 @ grid[1] = (n + (CUT.bn - 1)) // CUT.bn
    p: int64 @ block[1] = uint32(id()) // uint32(tiles_m * tiles_n)
    tile: int32 @ block[1] = uint32(id()) % uint32(tiles_m * tiles_n)
    corner: int2 @ block[1] = place(tile, group_m, tiles_m, tiles_n)
    i: int32 @ block[1] = corner[0] * CUT.bm
    j: int32 @ block[1] = corner[1] * CUT.bn
    with partition(out, thread[1], lambda y, x: p * batch + y * stride + x, races="none") as target, group(block[1]):
        workers, helpers = roles(warpgroup, CUT.warps // 4, 1)
        math, rest = roles(warp, CUT.warps, 4)
        share_registers(workers, helpers, MANY=232, FEW=40)
        a: shared(float64[CUT.outer_a, CUT.inner_a], ring=CUT.stages, align=16)
        b: shared(float64[CUT.outer_b, CUT.inner_b], ring=CUT.stages, align=16)

        @requires(block[1], thread["CUT.threads"])
        def fill(step: int32 @ block[1]):
            with claim(a, helpers) as to:
                copy_a(A, p * batch_a, apart_a, i, step, m, k, to, CUT=CUT)
            with claim(b, helpers) as to:
                copy_b(B, p * batch_b, apart_b, j, step, n, k, to, CUT=CUT)

        @requires(thread[1])
        def store(y: int32 @ thread[1], x: int32 @ thread[1], sum: float64 @ thread[1]):
            if y < m and x < n:
                target[y, x] = sum

        make_tile(a, b, math, i, j, k, CUT=CUT, FILL=fill, STORE=store)


@prism.device
@template(CUT=constexpr(DoubleCut), FILL=function, STORE=function)
@requires(block[1], thread["CUT.threads"])
def make_tile(
    a: shared(float64[CUT.outer_a, CUT.inner_a], ring=CUT.stages) @ block[1],
    b: shared(float64[CUT.outer_b, CUT.inner_b], ring=CUT.stages) @ block[1], users: roles(warp, CUT.warps), i: int32 @ block[1],
    j: int32 @ block[1], k: int32 @ grid[1],
):  # fmt: skip
    """Make the tile at i, j of steps that `FILL(step)` brings: `STORE(y, x, sum)` of each element, also beyond the edges.

    Perspective: block; the `users` multiply.
    Test:        tests/kernels/test_matmul.py
    """
    w: int32 @ warp[1] = id()
    t: int32 @ thread[1] = id()
    row: int32 @ thread[1] = w % CUT.down * CUT.rows + t % 32 // 4  # of the first elements that a thread has
    column: int32 @ thread[1] = w // CUT.down * CUT.columns + t % 32 // 4
    inner: int32 @ thread[1] = t % 4
    sums: float64[CUT.rows * CUT.columns // 32] @ thread[1]
    with users, group(thread[1]):
        for e in range(CUT.rows * CUT.columns // 32):
            sums[e] = 0.0

    @requires(warp["CUT.warps"])
    def use(
        of_a: shared(float64[CUT.outer_a, CUT.inner_a]) @ warp[CUT.warps],
        of_b: shared(float64[CUT.outer_b, CUT.inner_b]) @ warp[CUT.warps], step: int32 @ warp[CUT.warps],
    ):  # fmt: skip
        with group(warp[1]):
            multiply(of_a, of_b, row, column, inner, sums, CUT=CUT)

    grid.pipeline(a, b, users, 0, k, THREADS=CUT.threads, STEP=CUT.bk, FILL=FILL, USE=use)
    q: int32 @ thread[1] = column - t % 32 // 4 + inner * 2
    with users, group(thread[1]):
        for e in range(CUT.rows * CUT.columns // 32):
            y: int32 = e // (CUT.columns // 4) * 8
            x: int32 = e % (CUT.columns // 4) // 2 * 8 + e % 2
            STORE(i + row + y, j + q + x, sums[e])


def kernel_of(cut: DoubleCut) -> Kernel:
    """Return the kernel of tiles."""
    return dgemm_ring if cut.helped else dgemm


@prism.device
@template(CUT=constexpr(DoubleCut))
@requires(warp[1])
def multiply(
    a: const(shared(float64[CUT.outer_a, CUT.inner_a])) @ warp[1], b: const(shared(float64[CUT.outer_b, CUT.inner_b])) @ warp[1],
    row: int32 @ thread[1], column: int32 @ thread[1], inner: int32 @ thread[1],
    sums: float64[CUT.rows * CUT.columns // 32] @ thread[1],
):  # fmt: skip
    """Add the products of a step to a warp's sums: of 8 rows and 8 columns a thread has two, side by side.

    Perspective: warp; `row`, `column` of the first elements that a thread reads, whose k is `inner`, and fours after it.
    """
    STRIPS: constexpr(int) = CUT.rows // 8
    ACROSS: constexpr(int) = CUT.columns // 8
    FOURS: constexpr(int) = CUT.depth // 4
    minus: uint64 @ thread[1] = uint64(inner & 1 & ~column) << 63  # of `-im`: an odd one of K, an even column
    for first in range(0, CUT.bk, CUT.depth, unroll=True):
        left: float64[STRIPS * FOURS] @ thread[1]  # by strips of 8 rows, and then by fours of K
        right: float64[ACROSS * FOURS] @ thread[1]
        with group(thread[1]):
            for e in range(STRIPS * FOURS):
                y: int32 = row + e % STRIPS * 8
                z: int32 = first + e // STRIPS * 4 + inner
                if CUT.complex and not CUT.along_a:
                    left[e] = a[z // 2, 2 * y + z % 2]
                else:
                    left[e] = a[y if CUT.along_a else z, z if CUT.along_a else y]
            for e in range(ACROSS * FOURS):
                x: int32 = column + e % ACROSS * 8
                z: int32 = first + e // ACROSS * 4 + inner
                if CUT.complex:
                    found: float64 = b[x // 2, z ^ (x & 1)] if CUT.along_b else b[z // 2, x ^ (z & 1)]
                    right[e] = bitcast(bitcast(found, uint64) ^ minus, float64)
                else:
                    right[e] = b[x if CUT.along_b else z, z if CUT.along_b else x]
        for strip in range(0, STRIPS, 1 if CUT.depth == 4 else 2, unroll=True):
            for x in range(0, ACROSS, unroll=True):
                at: int32 = (strip * ACROSS + x) * 2
                if CUT.depth == 4:
                    one: float64[1] @ thread[1]
                    other: float64[1] @ thread[1]
                    two: float64[2] @ thread[1]
                    with group(thread[1]):
                        one[0] = left[strip]
                        other[0] = right[x]
                        for e in range(2):
                            two[e] = sums[at + e]
                    mma_m8n8k4_f64(one, other, two)
                    with group(thread[1]):
                        for e in range(2):
                            sums[at + e] = two[e]
                else:
                    four: float64[4] @ thread[1]
                    of_a: float64[2 * FOURS] @ thread[1]
                    of_b: float64[FOURS] @ thread[1]
                    with group(thread[1]):
                        for e in range(4):
                            four[e] = sums[at + e // 2 * (2 * ACROSS) + e % 2]
                        for e in range(2 * FOURS):
                            of_a[e] = left[e // 2 * STRIPS + strip + e % 2]
                        for e in range(FOURS):
                            of_b[e] = right[e * ACROSS + x]
                    if CUT.depth == 16:
                        mma_m16n8k16_f64(of_a, of_b, four)
                    else:
                        mma_m16n8k8_f64(of_a, of_b, four)
                    with group(thread[1]):
                        for e in range(4):
                            sums[at + e // 2 * (2 * ACROSS) + e % 2] = four[e]


@prism.device
@template(CUT=constexpr(DoubleCut))
@requires(warpgroup[1])
def copy_a(
    A: ptr(const(float64)) @ grid[1], start: int64 @ block[1], apart: int64 @ grid[1], i: int32 @ block[1],
    step: int32 @ block[1], m: int32 @ grid[1], k: int32 @ grid[1],
    tile: shared(float64[CUT.outer_a, CUT.inner_a]) @ warpgroup[1],
):  # fmt: skip
    """Copy a tile of A: of complex numbers K counts real ones, and where rows of the tile lie along m, so does m."""
    if CUT.along_a:
        copy(A, start, apart, i, step, m, k, tile, ALONG=True, WIDE=CUT.wide_a)
    else:
        copy(
            A, start, apart, i * CUT.numbers, step // CUT.numbers, m * CUT.numbers, k // CUT.numbers, tile, ALONG=False,
            WIDE=CUT.wide_a,
        )  # fmt: skip


@prism.device
@template(CUT=constexpr(DoubleCut))
@requires(warpgroup[1])
def copy_b(
    B: ptr(const(float64)) @ grid[1], start: int64 @ block[1], apart: int64 @ grid[1], j: int32 @ block[1],
    step: int32 @ block[1], n: int32 @ grid[1], k: int32 @ grid[1],
    tile: shared(float64[CUT.outer_b, CUT.inner_b]) @ warpgroup[1],
):  # fmt: skip
    """Copy a tile of B, a complex number of which stands for two real columns, and for two real ones of K."""
    if CUT.along_b:
        copy(B, start, apart, j // CUT.numbers, step, n // CUT.numbers, k, tile, ALONG=True, WIDE=CUT.wide_b)
    else:
        copy(B, start, apart, j, step // CUT.numbers, n, k // CUT.numbers, tile, ALONG=False, WIDE=CUT.wide_b)


@prism.device
@template(ALONG=constexpr(bool), WIDE=constexpr(bool), OUTER=constexpr(int), INNER=constexpr(int))
@requires(warpgroup[1])
def copy(
    x: ptr(const(float64)) @ grid[1], start: int64 @ block[1], apart: int64 @ grid[1], first: int32 @ block[1],
    step: int32 @ block[1], extent: int32 @ grid[1], k: int32 @ grid[1], tile: shared(float64[OUTER, INNER]) @ warpgroup[1],
):  # fmt: skip
    """Copy a tile of an operand from `first` on, of an `extent`, and from `step` on in K: zeros beyond these.

    Perspective: a warpgroup; adjacent threads copy what lies side by side, one element each or, where `WIDE`, two.
    """
    EACH: constexpr(int) = 2 if WIDE else 1
    UNITS: constexpr(int) = (INNER - PAD) // EACH
    LANES: constexpr(int) = 128 if UNITS > 128 else UNITS  # threads that copy of one row of the tile at a time
    DOWN: constexpr(int) = 128 // LANES
    t: int32 @ thread[1] = id()
    y: int32 @ thread[1] = t // LANES
    x0: int32 @ thread[1] = t % LANES * EACH
    outer: int32 @ warpgroup[1] = first if ALONG else step  # of the tile's rows, and of what is in them
    along: int32 @ warpgroup[1] = step if ALONG else first
    with partition(tile, thread[1], lambda q, v: (y + q, x0 + v)) as mine, async_(mine) as coming, group(thread[1]):
        rows: int32 = (extent if ALONG else k) - outer - y
        inside: int32 = (k if ALONG else extent) - along - x0
        at: int64 = start + (outer + y) * apart + along + x0
        if outer + OUTER <= (extent if ALONG else k) and along + (INNER - PAD) <= (k if ALONG else extent):
            for q in range(0, OUTER, DOWN, unroll=True):
                for r in range(0, UNITS * EACH, LANES * EACH, unroll=True):
                    cp_async(coming[q, r], x[at + q * apart + r], 8 * EACH)
        else:
            for q in range(0, OUTER, DOWN, unroll=True):
                for r in range(0, UNITS * EACH, LANES * EACH, unroll=True):
                    cp_async(coming[q, r], x[at + q * apart + r], 8 * EACH, max(0, min(EACH, inside - r)) * 8 if q < rows else 0)
