from __future__ import annotations

from prism.lang import block, count, group, id, prism, requires, thread


@prism("device")
@requires(block[1], thread[32])
def case(n: int @ block[1]):
    t: int @ thread[1] = id()
    total: int @ thread[1] = 0
    with group(thread[1]):
        for i in range(t, n, count(thread[1])):  # error: id
            total += i
