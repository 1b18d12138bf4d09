from __future__ import annotations

from prism.lang import block, prism, requires, split, thread


@prism("device")
@requires(block[1], thread[64])
def case(n: int @ block[1]):
    match split(thread):
        case 32:
            total: int @ thread[64] = n  # error: decl
