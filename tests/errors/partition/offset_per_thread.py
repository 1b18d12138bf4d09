from __future__ import annotations

from prism.lang import block, id, partition, prism, ptr, requires, thread


@prism("device")
@requires(block[1], thread[32])
def case(x: ptr(float) @ block[1]):
    t: int @ thread[1] = id()
    with partition(x, thread[32], offset=t) as row:  # error: partition
        v: float @ thread[1] = row[0]
