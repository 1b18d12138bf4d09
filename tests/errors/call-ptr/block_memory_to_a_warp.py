from __future__ import annotations

from prism.lang import block, group, id, partition, prism, ptr, requires, shared, split, thread


@prism("device")
@requires(thread[32])
def fill(c: ptr(float) @ thread[32]):
    with partition(c, thread[1], id()) as mine:
        with group(thread[1]):
            mine[0] = 0.0


@prism("device")
@requires(block[1], thread[32])
def case(n: int @ block[1]):
    C: shared(float[32]) @ block[1]
    match split(thread):
        case 32:
            fill(C)  # error: call-ptr
