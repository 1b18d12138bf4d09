from __future__ import annotations

from prism.lang import block, claim, id, prism, ptr, requires, thread


@prism("device")
@requires(block[1], thread[32])
def case(x: ptr(int) @ block[1]):
    t: int @ thread[1] = id()
    with claim(x, thread[32], offset=t) as own:  # error: claim
        m: int @ thread[1] = t
