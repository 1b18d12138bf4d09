from __future__ import annotations

from prism.lang import block, const, id, partition, prism, ptr, requires, shared, thread


@prism("device")
@requires(block[1], thread[32])
def read(x: ptr(const(float)) @ block[1]):
    v: float @ block[1] = x[0]


@prism("device")
@requires(block[1], thread[32])
def case(n: int @ block[1]):
    S: shared(float[32]) @ block[1]
    with partition(S, thread[1], id()) as mine:
        read(S)  # error: hide
