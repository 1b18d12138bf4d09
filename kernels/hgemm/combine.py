"""What tiles of a product have made of their rows, or of their columns, combined: the second step of a reduction."""

from __future__ import annotations

from prism.lang import (
    attr, block, const, constexpr, float32, function, grid, group, id, int32, int64, partition, prism, ptr, requires, shared,
    template, thread,
)  # fmt: skip


@prism.kernel
@template(COMBINE=function, WARPS=constexpr(int))
@requires(grid[1], block[1], thread["32 * WARPS"])
@attr("__launch_bounds__(32 * WARPS)")
def combine_parts(
    partial: ptr(const(float32)) @ grid[1], y: ptr(float32) @ grid[1], parts: int32 @ grid[1], extent: int32 @ grid[1],
    initial: float32 @ grid[1],
):  # fmt: skip
    """`y[e] = COMBINE(partial[0, e], partial[1, e], ...)`, from `initial` on.

    Perspective: grid, a block of `WARPS` warps for each 32 elements.
    Shapes:      `partial`: `parts` rows of `extent` elements; `y`: `extent`.
    Numerics:    a warp combines the rows whose number leaves the same rest; then the warps' are, in their order.
    Test:        tests/kernels/test_hgemm_fused.py
    """
    first: int32 @ block[1] = id() * 32
    with partition(y, block[1], offset=first) as target, group(block[1]):
        found: shared(float32[32 * WARPS])
        t: int32 @ thread[1] = id()
        with partition(found, thread[1], offset=t) as mine, group(thread[1]):
            total: float32 = initial
            if first + t % 32 < extent:
                for part in range(t // 32, parts, WARPS):
                    total = COMBINE(total, partial[int64(part) * extent + first + t % 32])
            mine[0] = total
        with partition(target, thread[1], offset=t) as mine, group(thread[1]):
            if t < 32 and first + t < extent:
                whole: float32 = found[t]
                for other in range(1, WARPS):
                    whole = COMBINE(whole, found[32 * other + t])
                mine[0] = whole
