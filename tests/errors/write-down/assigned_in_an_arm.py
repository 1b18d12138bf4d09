from __future__ import annotations

from prism.lang import block, prism, requires, split, thread


@prism("device")
@requires(block[1], thread[32])
def case(n: int @ block[1]):
    found: bool @ block[1] = False
    match split(thread):
        case 32:
            found = True  # error: write-down
