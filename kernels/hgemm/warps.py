"""Matrix multiplication by the tensor cores of any GPU from sm_80 on: warps multiply by `mma`, and all threads copy tiles ahead.

There are no tensor copies, and no instruction of a warpgroup. The pipeline is that of every product, whose rings all threads fill
here by `cp_async`; what is done with a sum is a function, as `hgemm_fused`'s.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from prism.kernels.hgemm.fused import Terms
from prism.kernels.hgemm.fused_parts import finish_element
from prism.kernels.sgemm.sums import place
from prism.lang import (
    assume, async_, attr, block, const, constexpr, cp_async, dtype, float16, float32, function, grid, group, id, int2, int32,
    int64, ldmatrix, mma_m16n8k16_bf16, mma_m16n8k16_f16, partition, prism, ptr, requires, roles, shared, store_vector,
    strides_nest, template, thread, uint32, vector, warp,
)  # fmt: skip

PIECE = 8
"""Elements that a thread copies at a time."""


@dataclass(frozen=True)
class WarpCut:
    """Tiles of `bm x bn`, 64 of K at a time, with `stages` of these; warps are `down` by `across`, `blocks` a multiprocessor.

    `outside_a`, `outside_b`: rows of a tile of A, of B, are those of K, whose elements lie side by side along m or n.
    """

    bm: int
    bn: int
    stages: int
    down: int
    across: int
    blocks: int = 1
    outside_a: bool = False
    outside_b: bool = False
    bk: int = 64

    @property
    def warps(self) -> int:
        """Warps of a block."""
        return self.down * self.across

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * self.warps

    @property
    def rows(self) -> int:
        """Rows of a warp."""
        return self.bm // self.down

    @property
    def columns(self) -> int:
        """Columns of a warp."""
        return self.bn // self.across

    @property
    def many(self) -> int:
        """Sums of a thread."""
        return self.rows * self.columns // 32

    @property
    def outer_a(self) -> int:
        """Rows of a shared tile of A."""
        return self.bk if self.outside_a else self.bm

    @property
    def inner_a(self) -> int:
        """Elements of each."""
        return self.bm if self.outside_a else self.bk

    @property
    def outer_b(self) -> int:
        """Rows of a shared tile of B."""
        return self.bk if self.outside_b else self.bn

    @property
    def inner_b(self) -> int:
        """Elements of each."""
        return self.bn if self.outside_b else self.bk

    @property
    def room(self) -> int:
        """Bytes of shared memory of a block."""
        return self.stages * (self.bm + self.bn) * self.bk * 2


TILES = (
    WarpCut(128, 256, 3, 2, 4), WarpCut(128, 128, 3, 2, 2, 2), WarpCut(128, 128, 3, 2, 4), WarpCut(64, 128, 4, 2, 2, 2),
    WarpCut(64, 128, 3, 2, 2), WarpCut(64, 64, 5, 2, 2, 2), WarpCut(64, 64, 3, 2, 2, 2),
)  # fmt: skip
HOST = WarpCut(64, 64, 2, 2, 2)
TIMES = (
    (2048, 2355, 5000), (1024, 1229, 4000), (1024, 1485, 1000), (819, 691, 1000), (819, 691, 2000), (512, 448, 1000),
    (666, 410, 1000),
)  # fmt: skip
"""Of each of `TILES`, clocks of a step of a block that has a multiprocessor alone, of each that shares one, and of a tile's ends.

Fitted to what an H200 took.
"""
ROOMS = {80: 163, 87: 163, 90: 227, 100: 227, 103: 227, 110: 227}
"""KiB of shared memory that a block may have, by architecture; on others it is 99."""


def choose_warps(m: int, n: int, k: int, processors: int, arch: int) -> WarpCut:
    """Return the tiles that suit a product on an architecture, as 80 or 120: about the fewest clocks for who has most of them."""

    def clocks(cut: WarpCut) -> int:
        alone, each, ends = TIMES[TILES.index(cut)]
        rounds, rest = divmod(-(-(-(-m // cut.bm) * -(-n // cut.bn)) // processors), cut.blocks)
        steps = -(-k // cut.bk)
        last = steps * max(alone, rest * each) + ends if rest else 0
        return rounds * (steps * max(alone, cut.blocks * each) + ends) + last

    return min((cut for cut in TILES if cut.blocks * cut.room <= ROOMS.get(arch, 99) * 1024), key=clocks)


@prism.kernel
@template(T=dtype, OUT=dtype, CUT=constexpr(WarpCut), TERMS=constexpr(Terms), EPILOGUE=function)
@requires(grid[1], block[1], thread["CUT.threads"])
@attr("__launch_bounds__(CUT.threads, CUT.blocks)")
def hgemm_by_warps(
    A: ptr(const(T)) @ grid[1], apart_a: int64 @ grid[1], B: ptr(const(T)) @ grid[1], apart_b: int64 @ grid[1],
    out: ptr(OUT) @ grid[1], stride: int64 @ grid[1], once: ptr(const(TERMS.once)) @ grid[1],
    by_row: ptr(const(TERMS.row)) @ grid[1], by_column: ptr(const(TERMS.column)) @ grid[1],
    by_element: ptr(const(TERMS.element)) @ grid[1], m: int32 @ grid[1], n: int32 @ grid[1], k: int32 @ grid[1],
    group_m: int32 @ grid[1], above: int32 @ grid[1], pairs: int32 @ grid[1],
):  # fmt: skip
    """`out[i, j] = EPILOGUE(sum, 0, 0, once[0], by_row[i], by_column[j], by_element[i, j], i, j)`.

    Perspective: grid, of one block a tile; of each `group_m` rows of tiles before those below.
    Shapes:      `A`: m x k, its rows `apart_a` elements apart, or where `CUT.outside_a` its columns; `B`: k x n, its columns
                 `apart_b` elements apart, or where `CUT.outside_b` its rows; all of these begin at multiples of 16 bytes. `out`:
                 m x n, its rows `stride` elements apart. m, n are at least 1. `above`, `TERMS`: as `hgemm_fused`'s.
                 Where `pairs` is 1, pairs of elements of `out`'s rows begin at multiples of their size.
    Cost:        `CUT.stages` tiles of A and B in shared memory, a barrier a step.
    Numerics:    products are exact, and added in float32 by the tensor cores, in the order of k.
    Test:        tests/kernels/test_hgemm_warps.py, tests/gpu/test_hgemm_warps.py
    """
    assume(m >= 1 and n >= 1 and group_m >= 1 and strides_nest(m, stride, n, 1))
    tiles_m: int32 @ grid[1] = (m + (CUT.bm - 1)) // CUT.bm
    tiles_n: int32 @ grid[1] = (n + (CUT.bn - 1)) // CUT.bn
    tile: int32 @ block[1] = id()
    corner: int2 @ block[1] = place(tile, group_m, tiles_m, tiles_n)
    i: int32 @ block[1] = corner[0] * CUT.bm
    j: int32 @ block[1] = corner[1] * CUT.bn
    with partition(out, thread[1], lambda y, x: y * stride + x, races="none") as target, group(block[1]):
        a: shared(T[CUT.outer_a, CUT.inner_a], ring=CUT.stages, swizzle=128)
        b: shared(T[CUT.outer_b, CUT.inner_b], ring=CUT.stages, swizzle=128)
        everyone = roles(warp, CUT.warps)
        w: int32 @ warp[1] = id()
        lane: int32 @ thread[1] = id() % 32
        sums: float32[CUT.many] @ thread[1] = {0}
        row: int32 @ warp[1] = w % CUT.down * CUT.rows
        column: int32 @ warp[1] = w // CUT.down * CUT.columns

        @requires(block[1], thread["CUT.threads"])
        def fill(step: int32 @ block[1]):
            with partition(a, block[1]) as to:
                copy_tile(A, apart_a, i, step, m, k, to, OUTSIDE=CUT.outside_a, THREADS=CUT.threads)
            with partition(b, block[1]) as to:
                copy_tile(B, apart_b, j, step, n, k, to, OUTSIDE=CUT.outside_b, THREADS=CUT.threads)

        @requires(warp["CUT.warps"])
        def use(
            of_a: shared(T[CUT.outer_a, CUT.inner_a], swizzle=128) @ warp[CUT.warps],
            of_b: shared(T[CUT.outer_b, CUT.inner_b], swizzle=128) @ warp[CUT.warps], step: int32 @ warp[CUT.warps],
        ):  # fmt: skip
            with group(warp[1]):
                for q in range(0, CUT.bk, 16, unroll=True):
                    multiply_16(sums, of_a, of_b, row, column, q, lane, CUT=CUT)

        grid.pipeline(a, b, everyone, 0, k, THREADS=CUT.threads, STEP=CUT.bk, FILL=fill, USE=use)

        @requires(thread[1])
        def value(y: int32 @ thread[1], x: int32 @ thread[1], sum: float32 @ thread[1]) -> OUT @ thread[1]:
            return finish_element(
                sum, once, by_row, by_column, by_element, y, x, m, n, above, OUT=OUT, TERMS=TERMS, EPILOGUE=EPILOGUE
            )

        with group(thread[1]):
            for e in range(0, CUT.many, 2):
                y: int32 = i + row + e // (CUT.columns // 2) * 16 + e % 4 // 2 * 8 + lane // 4
                x: int32 = j + column + e % (CUT.columns // 2) // 4 * 8 + lane % 4 * 2
                if y < m and x + 1 < n and pairs > 0:
                    store_vector(target[y, x], vector(OUT, 2)(value(y, x, sums[e]), value(y, x + 1, sums[e + 1])))
                else:
                    for one in range(2):
                        if y < m and x + one < n:
                            target[y, x + one] = value(y, x + one, sums[e + one])


@prism.device
@template(T=dtype, CUT=constexpr(WarpCut))
@requires(warp[1])
def multiply_16(
    sums: float32[CUT.many] @ thread[1], of_a: const(shared(T[CUT.outer_a, CUT.inner_a], swizzle=128)) @ warp[CUT.warps],
    of_b: const(shared(T[CUT.outer_b, CUT.inner_b], swizzle=128)) @ warp[CUT.warps], row: int32 @ warp[1],
    column: int32 @ warp[1], q: int32 @ warp[1], lane: int32 @ thread[1],
):  # fmt: skip
    """Add the products of 16 of K, from the `q`-th of a tile on, to a warp's sums, which are by 16 rows and 8 columns.

    Perspective: warp, whose part of the tile begins at `row`, `column`.
    Test:        tests/kernels/test_hgemm_warps.py
    """
    ACROSS: constexpr(int) = CUT.columns // 8
    right: uint32[2 * ACROSS] @ thread[1]
    four: uint32[4] @ thread[1]
    two: uint32[2] @ thread[1]
    some: float32[4] @ thread[1]
    for x in range(0, ACROSS, 2, unroll=True):
        along: int32 @ thread[1] = q + lane // 8 % 2 * 8 + (lane % 8 if CUT.outside_b else 0)
        aside: int32 @ thread[1] = column + 8 * x + lane // 16 * 8 + (0 if CUT.outside_b else lane % 8)
        ldmatrix(of_b[along if CUT.outside_b else aside, aside if CUT.outside_b else along], four, trans=CUT.outside_b)
        with group(thread[1]):
            for e in range(0, 4):
                right[2 * x + e] = four[e]
    for y in range(0, CUT.rows // 16, unroll=True):
        left: uint32[4] @ thread[1]
        along: int32 @ thread[1] = q + lane // 16 * 8 + (lane % 8 if CUT.outside_a else 0)
        aside: int32 @ thread[1] = row + 16 * y + lane // 8 % 2 * 8 + (0 if CUT.outside_a else lane % 8)
        ldmatrix(of_a[along if CUT.outside_a else aside, aside if CUT.outside_a else along], left, trans=CUT.outside_a)
        for x in range(0, ACROSS, unroll=True):
            with group(thread[1]):
                for e in range(0, 2):
                    two[e] = right[2 * x + e]
                for e in range(0, 4):
                    some[e] = sums[(y * ACROSS + x) * 4 + e]
            if T == float16:
                mma_m16n8k16_f16(left, two, some)
            else:
                mma_m16n8k16_bf16(left, two, some)
            with group(thread[1]):
                for e in range(0, 4):
                    sums[(y * ACROSS + x) * 4 + e] = some[e]


@prism.device
@template(T=dtype, OUTSIDE=constexpr(bool), THREADS=constexpr(int), OUTER=constexpr(int), INNER=constexpr(int))
@requires(block[1], thread["THREADS"])
def copy_tile(
    x: ptr(const(T)) @ grid[1], apart: int64 @ grid[1], first: int32 @ block[1], step: int32 @ block[1], extent: int32 @ grid[1],
    k: int32 @ grid[1], tile: shared(T[OUTER, INNER], swizzle=128) @ block[1],
):  # fmt: skip
    """Copy a tile of an operand from `first` on, of an `extent`, and from `step` on in K: zeros beyond these.

    Perspective: block; adjacent threads copy what lies side by side, 16 bytes each.
    Test:        tests/kernels/test_hgemm_warps.py
    """
    LANES: constexpr(int) = INNER // PIECE  # threads that copy a row of the tile
    DOWN: constexpr(int) = THREADS // LANES
    t: int32 @ thread[1] = id()
    outer: int32 @ thread[1] = (step if OUTSIDE else first) + t // LANES
    along: int32 @ thread[1] = (first if OUTSIDE else step) + t % LANES * PIECE
    rows: int32 @ block[1] = k - step if OUTSIDE else extent - first
    columns: int32 @ block[1] = extent - first if OUTSIDE else k - step
    at: int64 @ thread[1] = outer * apart + along
    with (
        partition(tile, thread[1], lambda e: (DOWN * e + t // LANES, t % LANES * PIECE)) as mine, async_(mine) as coming,
        group(thread[1]),
    ):  # fmt: skip
        if rows >= OUTER and columns >= INNER:  # in a branch of its own: few instructions, of whom all wait
            for e in range(0, OUTER // DOWN, unroll=True):
                cp_async(coming[e], x[at + DOWN * e * apart], 16)
        else:
            valid: int32 = max(0, min(PIECE, (extent if OUTSIDE else k) - along)) * 2
            for e in range(0, OUTER // DOWN, unroll=True):
                there: bool = outer + DOWN * e < (k if OUTSIDE else extent)
                cp_async(coming[e], x[at + DOWN * e * apart], 16, valid if there else 0)


def lay(cut: WarpCut, outside_a: bool, outside_b: bool) -> WarpCut:
    """Return tiles for operands that have K outside, or inside."""
    return replace(cut, outside_a=outside_a, outside_b=outside_b)


__all__ = ["HOST", "TILES", "WarpCut", "choose_warps", "hgemm_by_warps", "lay"]
