from __future__ import annotations

from prism.lang import block, prism, requires, thread


@prism("device")
@requires(block[1], thread[1])
def case(flag: bool @ thread[1], n: int @ block[1]):
    if flag:  # error: cond
        m: int @ thread[1] = n
