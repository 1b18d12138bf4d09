from __future__ import annotations

from prism.lang import block, prism, requires, split, thread


@prism("device")
@requires(thread[32])
def case(n: int @ thread[32]):
    match split(block):  # error: split-sum
        case 1:
            m: int @ thread[1] = n
