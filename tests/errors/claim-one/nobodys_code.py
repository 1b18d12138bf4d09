from __future__ import annotations

from prism.lang import block, claim, prism, requires, roles, shared, warp


@prism("device")
@requires(block[1], warp[2])
def case(n: int @ block[1]):
    S: shared(int[32]) @ block[1]
    readers, writer = roles(warp, 1, 1)
    with claim(S, readers) as s:
        for k in range(n):
            with readers:
                a: int @ warp[1] = s[k]
        b: int @ block[1] = s[0]  # error: claim-one
