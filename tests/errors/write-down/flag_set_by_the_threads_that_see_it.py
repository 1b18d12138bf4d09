from __future__ import annotations

from prism.lang import block, const, group, id, partition, prism, ptr, requires, thread


@prism("device")
@requires(block[1], thread[32])
def case(x: ptr(const(int)) @ block[1]):
    done: bool @ block[1] = True
    with partition(x, thread[1], id()) as mine:
        with group(thread[1]):
            if mine[0] != 0:
                done = False  # error: write-down
