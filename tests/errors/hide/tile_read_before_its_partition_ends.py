from __future__ import annotations

from prism.lang import block, const, group, id, partition, prism, ptr, requires, shared, thread


@prism("device")
@requires(block[1], thread[32])
def case(x: ptr(const(float)) @ block[1]):
    tile: shared(float[32]) @ block[1]
    t: int @ thread[1] = id()
    with partition(tile, thread[1], t) as slot:
        with group(thread[1]):
            slot[0] = x[t]
            left: float @ thread[1] = tile[t - 1] if t > 0 else 0.0  # error: hide
