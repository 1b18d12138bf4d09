"""The paper's first matrix multiplication, as printed: `C` is read by the name that its partition hides."""

from __future__ import annotations

from prism.lang import block, const, grid, group, id, partition, prism, ptr, requires, thread


@prism("global")
@requires(grid[1], block[1], thread[1])
def case(N: int @ grid[1], K: int @ grid[1], A: ptr(const(float)) @ grid[1], B: ptr(const(float)) @ grid[1], C: ptr(float) @ grid[1]):
    with partition(C, block[1], races="allow") as tile:
        with group(block[1]):
            t: int @ thread[1] = id()
            with partition(tile, thread[1], t) as element:
                with group(thread[1]):
                    sum: float = 0.0
                    for k in range(K):
                        sum += A[t // N * K + k] * B[k * N + t % N]
                    element[0] = sum + C[t]  # error: hide
