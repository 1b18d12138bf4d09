from __future__ import annotations

from prism.lang import block, count, prism, requires, thread


@prism("device")
@requires(thread[32])
def case(n: int @ thread[32]):
    b: int @ thread[32] = count(block[1])  # error: id
