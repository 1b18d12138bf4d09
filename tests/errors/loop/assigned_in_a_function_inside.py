from __future__ import annotations

from prism.lang import block, grid, group, id, partition, prism, ptr, requires, thread


@prism.kernel
@requires(grid[1], block[1], thread[32])
def case(y: ptr(int) @ grid[1], n: int @ grid[1]):
    with partition(y, thread[1], id()) as mine, group(thread[1]):

        @requires(thread[1])
        def sum_up() -> int @ thread[1]:
            count: int = 0
            for k in range(n):
                k = 2  # error: loop
                count += k
            return count
        mine[0] = sum_up()
