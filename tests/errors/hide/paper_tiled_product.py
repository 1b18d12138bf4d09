"""The paper's third and fourth, as printed: the tiles are read inside the partitions that fill them, with nothing between."""

from __future__ import annotations

from prism.lang import block, const, grid, group, id, partition, prism, ptr, requires, shared, thread


@prism("global")
@requires(grid[1], block[1], thread[64])
def case(K: int @ grid[1], A: ptr(const(float)) @ grid[1], B: ptr(const(float)) @ grid[1], C: ptr(float) @ grid[1]):
    bx: int @ block[1] = id()
    with partition(C, block[1], offset=bx * 64) as tile:
        with group(block[1]):
            a: shared(float[64]) @ block[1]
            b: shared(float[64]) @ block[1]
            t: int @ thread[1] = id()
            sum: float @ thread[1] = 0.0
            for first in range(0, K, 8):
                with partition(a, thread[1], t) as fill_a:
                    with partition(b, thread[1], t) as fill_b:
                        with group(thread[1]):
                            fill_a[0] = A[t // 8 * K + first + t % 8]
                            fill_b[0] = B[(first + t // 8) * 8 + t % 8]
                            for k in range(8):
                                left: float = a[t // 8 * 8 + k]  # error: hide
                                right: float = b[k * 8 + t % 8]  # error: hide
                                sum += left * right
            with partition(tile, thread[1], t) as element:
                with group(thread[1]):
                    element[0] = sum + tile[t]  # error: hide
