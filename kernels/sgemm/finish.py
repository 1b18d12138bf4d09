"""What comes after a product of float32 that another kernel made: functions of its elements, and what is combined of them."""

from __future__ import annotations

from prism.kernels.hgemm.fused import Terms
from prism.kernels.sgemm.fused import element_at, make_values
from prism.lang import (
    assume, attr, block, const, constexpr, float32, function, grid, group, id, int32, int64, partition, prism, ptr, requires,
    shuffle_xor, strides_nest, template, thread, uint32, warp,
)  # fmt: skip

REDUCERS = 256
"""Threads of a block."""
WIDTH = 128
"""Columns of its tile: four for each lane, 32 from each other."""
AT_ONCE = 4
"""Rows that a warp reads before it writes one."""


@prism.kernel
@template(
    ROWS=constexpr(int), TERMS=constexpr(Terms), EPILOGUE=function, SECOND=function, VALUE=function, COMBINE=function
)  # fmt: skip
@requires(grid[1], block[1], thread[REDUCERS])
@attr("__launch_bounds__(REDUCERS)")
def finish_reduced(
    out: ptr(float32) @ grid[1], stride: int64 @ grid[1], m: int32 @ grid[1], n: int32 @ grid[1], second: ptr(float32) @ grid[1],
    partial: ptr(float32) @ grid[1], once: ptr(const(TERMS.once)) @ grid[1], by_row: ptr(const(TERMS.row)) @ grid[1],
    by_column: ptr(const(TERMS.column)) @ grid[1], by_element: ptr(const(TERMS.element)) @ grid[1], above: int32 @ grid[1],
    initial: float32 @ grid[1],
):  # fmt: skip
    """As `finish` (fused.py), and `partial`: what COMBINE makes of VALUE of the same sums, from `initial` on.

    Perspective: grid, a block for each tile of `8 * ROWS` rows by `WIDTH` columns, row by row of tiles.
    Shapes:      `partial`: a number for each row of each tile where `TERMS.reduced` is 1, where it is 2 for each column of what
                 each warp has, `ROWS` rows; all rows, or columns, of a part lie side by side. The rest as `finish`'s.
    Cost:        one pass over the result, and as many numbers as there are parts.
    Numerics:    in an order that depends on the place in the result alone.
    Test:        tests/kernels/test_sgemm_fused.py, tests/gpu/test_sgemm.py
    """
    assume(m >= 1 and n >= 1 and strides_nest(m, stride, n, 1))
    across: int32 @ grid[1] = (n + (WIDTH - 1)) // WIDTH
    down: int32 @ block[1] = uint32(id()) // uint32(across)
    right: int32 @ block[1] = id() - down * across
    with (
        partition(out, thread[1], lambda y, x: y * stride + x, races="none") as target,
        partition(second, thread[1], lambda y, x: y * stride + x, races="none") as beside,
        partition(partial, thread[1], 0, races="none") as parts, group(block[1]),
    ):  # fmt: skip
        part: int32 @ warp[1] = down * (REDUCERS // 32) + id()
        lane: int32 @ thread[1] = id() % 32
        left: int32 @ thread[1] = right * WIDTH + lane
        columns: float32[4] @ thread[1]
        with group(thread[1]):
            for e in range(0, 4):
                columns[e] = initial
        for r in range(0, ROWS, AT_ONCE):
            top: int32 @ warp[1] = part * ROWS + r
            rows: float32[AT_ONCE] @ thread[1]
            with group(thread[1]):
                sums: float32[4 * AT_ONCE]
                own: TERMS.element[4 * AT_ONCE]
                for e in range(0, 4 * AT_ONCE):
                    y: int32 = top + e // 4
                    x: int32 = left + e % 4 * 32
                    sums[e] = target[y, x] if y < m and x < n else 0.0
                    own[e] = element_at(by_element, y, x, m, n, above, TERMS=TERMS)
                for e in range(0, 4 * AT_ONCE):
                    y: int32 = top + e // 4
                    x: int32 = left + e % 4 * 32
                    value: float32 = initial
                    if y < m and x < n:
                        found: float32[3]
                        make_values(
                            found, sums[e], own[e], y, x, above, once, by_row, by_column, TERMS=TERMS, EPILOGUE=EPILOGUE,
                            SECOND=SECOND, VALUE=VALUE,
                        )  # fmt: skip
                        target[y, x] = found[0]
                        if TERMS.second:
                            beside[y, x] = found[1]
                        value = found[2]
                    if TERMS.reduced == 1:
                        rows[e // 4] = value if e % 4 == 0 else COMBINE(rows[e // 4], value)
                    else:
                        columns[e % 4] = COMBINE(columns[e % 4], value)
            if TERMS.reduced == 1:
                for v in range(0, AT_ONCE, unroll=True):
                    total: float32 @ thread[1] = rows[v]
                    for bit in range(5, unroll=True):
                        total = COMBINE(total, shuffle_xor(total, 1 << bit))
                    with group(thread[1]):
                        if lane == 0 and top + v < m:
                            parts[int64(right) * m + top + v] = total
        if TERMS.reduced == 2:
            with group(thread[1]):
                for e in range(0, 4):
                    if left + 32 * e < n:
                        parts[int64(part) * n + left + 32 * e] = columns[e]


__all__ = ["REDUCERS", "WIDTH", "finish_reduced"]
