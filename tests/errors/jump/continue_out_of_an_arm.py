from __future__ import annotations

from prism.lang import block, prism, requires, split, warp


@prism("device")
@requires(block[1], warp[4])
def case(n: int @ block[1]):
    for i in range(n):
        match split(warp):
            case 1:
                continue  # error: jump
        m: int = i
