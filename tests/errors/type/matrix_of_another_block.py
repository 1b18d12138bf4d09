from __future__ import annotations

from prism.lang import block, float16, grid, group, id, int32, ldmatrix, prism, requires, shared, thread, uint32, warp


@prism("global")
@requires(grid[1], block[2], warp[1])
def case():
    with group(block[2]):
        box: shared(float16[2, 8, 8], align=128)
        b: int32 @ block[1] = id()
        with group(warp[1]):
            t: int32 @ thread[1] = id()
            a: uint32[1] @ thread[1]
            ldmatrix(box[1 - b, t % 8, 0], a)  # error: type
