from __future__ import annotations

from prism.lang import block, fragment, prism, requires, thread, warpgroup


@prism("device")
@requires(block[1], thread[256])
def case(n: int @ block[1]):
    acc: fragment(float, 64, 64) @ warpgroup[2]  # error: decl
