from __future__ import annotations

from prism.lang import block, prism, requires, split, thread, warp


@prism("device")
@requires(block[1], warp[12])
def case(n: int @ block[1]):
    match split(warp):
        case 4:
            m: int @ thread[1] = n
        case 8:  # error: split-align
            k: int @ thread[1] = n
