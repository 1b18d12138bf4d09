from __future__ import annotations

from prism.lang import block, prism, requires, shared, split, thread, warp


@prism("device")
@requires(block[1], warp[4])
def case(n: int @ block[1]):
    match split(warp):
        case 1:
            m: int @ thread[1] = n
        case 1:
            staging: shared(float[32]) @ thread[32]  # error: split-body
