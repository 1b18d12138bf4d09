from __future__ import annotations

from prism.lang import block, count, id, prism, requires, thread


@prism("device")
@requires(block[1], thread[32])
def case(n: int @ block[1]):
    for i in range(id(thread[1]), n, count(thread[1])):  # error: loop
        m: int @ thread[1] = i
