from __future__ import annotations

from prism.lang import block, claim, prism, requires, shared, split, thread


@prism("device")
@requires(block[1], thread[64])
def case(n: int @ block[1]):
    S: shared(int[64]) @ block[1]
    with claim(S, thread[32]) as s:
        match split(thread):
            case 32:
                a: int @ thread[32] = s[0]
            case 32:
                b: int @ thread[32] = s[1]  # error: claim-one
