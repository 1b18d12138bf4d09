"""Matrix multiplication of a small result and a long K, with an epilogue that is a function: as `parts.py`, but for the end."""

from __future__ import annotations

from prism.kernels.hgemm.cut import NO_BLOCKS, Blocks, Cut
from prism.kernels.hgemm.fused import Terms
from prism.kernels.hgemm.parts import make_in_parts
from prism.lang import (
    CUtensorMap, assume, attr, block, const, constexpr, dtype, float32, function, grid, group, id, int32, int64, partition, prism,
    ptr, requires, strides_nest, template, thread,
)  # fmt: skip


@prism.kernel
@template(
    T=dtype, TB=dtype, OUT=dtype, CUT=constexpr(Cut), TERMS=constexpr(Terms), EPILOGUE=function,
    BLOCKS=constexpr(Blocks, default=NO_BLOCKS),
)
@requires(grid[1], block["CUT.parts"], thread["CUT.threads"])
@attr("__launch_bounds__(CUT.threads, 1)")
def hgemm_fused_in_parts(
    map_a: const(CUtensorMap(T, CUT.rows_a, CUT.columns_a, swizzle=128)) @ grid[1],
    map_b: const(CUtensorMap(TB, CUT.rows_b, CUT.columns_b, swizzle=CUT.span_b)) @ grid[1], out: ptr(OUT) @ grid[1],
    stride: int64 @ grid[1], once: ptr(const(TERMS.once)) @ grid[1], by_row: ptr(const(TERMS.row)) @ grid[1],
    by_column: ptr(const(TERMS.column)) @ grid[1], by_element: ptr(const(TERMS.element)) @ grid[1], m: int32 @ grid[1],
    n: int32 @ grid[1], k: int32 @ grid[1], above: int32 @ grid[1], scale_a: ptr(const(float32)) @ grid[1],
    scale_b: ptr(const(float32)) @ grid[1],
):  # fmt: skip
    """`out[i, j] = EPILOGUE(sum, 0, 0, once, by_row[i], by_column[j], by_element[i, j], i, j)`.

    Perspective: grid, of a cluster of `CUT.parts` blocks for each tile of the result.
    Shapes:      as `hgemm_fused`'s (fused.py), and `hgemm_in_parts`' (parts.py).
    Cost:        `CUT.stages` tiles of A and B, and the sums of a tile, in the shared memory of each block.
    Numerics:    the steps of a part are added up as in hgemm, then the parts in their order: it depends on k and their number.
    Test:        tests/kernels/test_hgemm_fused.py
    """
    assume(m >= 1 and n >= 1 and strides_nest(n if CUT.trans else m, stride, m if CUT.trans else n, 1))
    tiles_m: int32 @ grid[1] = (m + (CUT.bm - 1)) // CUT.bm
    tile: int32 @ block[CUT.parts] = id()
    i: int32 @ block[CUT.parts] = tile % tiles_m * CUT.bm
    j: int32 @ block[CUT.parts] = tile // tiles_m * CUT.bn
    with (
        partition(out, thread[1], lambda y, x: x * stride + y if CUT.trans else y * stride + x, races="none") as target,
        group(block[CUT.parts]),
    ):

        @requires(thread[1])
        def store(y: int32 @ thread[1], x: int32 @ thread[1], sum: TERMS.sum @ thread[1]):
            if y < m and x < n:
                target[y, x] = finish_element(
                    float32(sum), once, by_row, by_column, by_element, y, x, m, n, above, OUT=OUT, TERMS=TERMS,
                    EPILOGUE=EPILOGUE,
                )  # fmt: skip

        make_in_parts(
            map_a, map_b, scale_a, scale_b, i, j, m, n, k, SUM=TERMS.sum, CUT=CUT, BLOCKS=BLOCKS, STORE=store,
        )


@prism.device
@template(OUT=dtype, TERMS=constexpr(Terms), EPILOGUE=function)
@requires(thread[1])
def finish_element(
    sum: float32 @ thread[1], once: ptr(const(TERMS.once)) @ grid[1], by_row: ptr(const(TERMS.row)) @ grid[1],
    by_column: ptr(const(TERMS.column)) @ grid[1], by_element: ptr(const(TERMS.element)) @ grid[1], y: int32 @ thread[1],
    x: int32 @ thread[1], m: int32 @ grid[1], n: int32 @ grid[1], above: int32 @ grid[1],
) -> OUT @ thread[1]:  # fmt: skip
    """What an epilogue makes of one sum, of row y and column x of a kernel's m by n: its records are read where they lie.

    Shapes:      `above`: rows of a batch's products before this one, of what is given by row and by element.
    Test:        tests/kernels/test_hgemm_fused.py, tests/kernels/test_hgemm_warps.py
    """
    down: int32 = 0 if TERMS.trans else above  # of the kernel's rows, and columns
    right: int32 = above if TERMS.trans else 0
    of_row: TERMS.row = TERMS.row()
    of_column: TERMS.column = TERMS.column()
    of_element: TERMS.element = TERMS.element()
    if TERMS.rows:
        of_row = by_row[down + y]
    if TERMS.columns:
        of_column = by_column[right + x]
    if TERMS.elements:
        if TERMS.trans:
            of_element = by_element[int64(right + x) * m + y]
        else:
            of_element = by_element[int64(down + y) * n + x]
    return OUT(EPILOGUE(sum, 0.0, 0.0, once[0], of_row, of_column, of_element, y, x))
