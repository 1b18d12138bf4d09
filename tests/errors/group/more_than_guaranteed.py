from __future__ import annotations

from prism.lang import block, group, prism, requires, thread


@prism("device")
@requires(block[1], thread[32])
def case(n: int @ block[1]):
    with group(thread[64]):  # error: group
        m: int @ thread[1] = n
