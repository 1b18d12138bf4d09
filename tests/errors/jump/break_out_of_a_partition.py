from __future__ import annotations

from prism.lang import block, id, partition, prism, ptr, requires, thread


@prism("device")
@requires(block[1], thread[32])
def case(x: ptr(int) @ block[1], n: int @ block[1]):
    for i in range(n):
        with partition(x, thread[1], id()) as mine:
            if i > 2:
                break  # error: jump
