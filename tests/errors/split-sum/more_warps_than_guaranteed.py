from __future__ import annotations

from prism.lang import block, prism, requires, split, thread, warp


@prism("device")
@requires(block[1], thread[32])
def case(n: int @ block[1]):
    match split(warp):
        case 4:  # error: split-sum
            m: int @ thread[1] = n
