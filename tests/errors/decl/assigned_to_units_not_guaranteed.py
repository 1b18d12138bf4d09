from __future__ import annotations

from prism.lang import block, id, prism, requires, thread


@prism("device")
@requires(block[1], thread[32])
def case(n: int @ block[1]):
    w: int @ thread[128] = id()  # error: decl
