from __future__ import annotations

from prism.lang import block, group, id, partition, prism, ptr, requires, thread


@prism("device")
@requires(block[1], thread[32])
def case(C: ptr(float) @ block[1]):
    with group(thread[1]):
        with partition(C, thread[1], id()) as mine:  # error: partition
            mine[0] = 1.0
