from __future__ import annotations

from prism.lang import block, id, partition, prism, ptr, requires, thread


@prism("device")
@requires(block[1], thread[32])
def case(x: ptr(float) @ block[1]):
    with partition(x, thread[64], 64 * id()) as rows:  # error: partition
        v: float @ thread[1] = rows[0]
