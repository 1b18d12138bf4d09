from __future__ import annotations

from prism.lang import block, const, id, partition, prism, ptr, requires, thread


@prism("device")
@requires(block[1], thread[32])
def case(x: ptr(const(int)) @ block[1]):
    with partition(x, thread[1], id()) as mine:
        first: int @ block[1] = 2 * mine[0]  # error: ptr-read
