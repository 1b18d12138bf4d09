from __future__ import annotations

from prism.lang import block, claim, prism, requires, thread


@prism("device")
@requires(block[1], thread[32])
def case(n: int @ block[1]):
    a: int[4] @ block[1] = {0}
    with claim(a, thread[1]) as own:  # error: claim
        m: int @ thread[1] = n
