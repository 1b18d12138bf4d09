from __future__ import annotations

from prism.lang import block, id, partition, prism, requires, thread


@prism("device")
@requires(block[1], thread[32])
def case(n: int @ block[1]):
    a: float[4] @ block[1] = {0}
    with partition(a, thread[1], id()) as mine:  # error: partition
        m: int @ thread[1] = n
