from __future__ import annotations

from prism.lang import block, group, prism, requires, thread


@prism("device")
@requires(block[6], thread[1])
def case(n: int @ block[6]):
    with group(block[5]):  # error: group
        m: int @ thread[1] = n
