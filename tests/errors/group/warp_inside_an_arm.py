from __future__ import annotations

from prism.lang import block, group, prism, requires, split, thread, warp


@prism("device")
@requires(block[1], thread[64])
def case(n: int @ block[1]):
    match split(thread):
        case 16:
            with group(warp[1]):  # error: group
                m: int @ thread[1] = n
