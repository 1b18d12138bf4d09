from __future__ import annotations

from prism.lang import async_, block, const, prism, ptr, requires, shared, thread


@prism("device")
@requires(block[1], thread[32])
def case(x: ptr(const(int)) @ block[1]):
    S: shared(int[32]) @ block[1]
    with async_(S) as d:  # error: async
        m: int @ thread[1] = 0
