from __future__ import annotations

from prism.lang import block, claim, prism, requires, shared, thread


@prism("device")
@requires(block[1], thread[32])
def case(n: int @ block[1]):
    total: shared(int[1]) @ block[1]
    with claim(total, thread[1]) as own:
        sum: int @ thread[1] = own[0]  # error: claim-one
