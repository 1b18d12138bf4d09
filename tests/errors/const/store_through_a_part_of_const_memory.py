from __future__ import annotations

from prism.lang import block, const, group, id, partition, prism, ptr, requires, thread


@prism("device")
@requires(block[1], thread[32])
def case(x: ptr(const(int)) @ block[1]):
    with partition(x, thread[1], id()) as mine:
        with group(thread[1]):
            mine[0] += 1  # error: const
