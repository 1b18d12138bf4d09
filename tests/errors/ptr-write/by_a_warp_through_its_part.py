from __future__ import annotations

from prism.lang import block, group, id, partition, prism, ptr, requires, thread


@prism("device")
@requires(block[1], thread[32])
def case(y: ptr(int) @ block[1]):
    with partition(y, thread[32], 32 * id()) as row:
        with group(thread[32]):
            lane: int @ thread[1] = id()
            row[lane] = 1  # error: ptr-write
