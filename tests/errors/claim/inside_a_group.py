from __future__ import annotations

from prism.lang import block, claim, group, prism, requires, shared, thread


@prism("device")
@requires(block[1], thread[32])
def case(n: int @ block[1]):
    S: shared(int[32]) @ block[1]
    with group(thread[1]):
        with claim(S, thread[1]) as own:  # error: claim
            own[0] = n
