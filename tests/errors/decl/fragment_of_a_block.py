from __future__ import annotations

from prism.lang import block, fragment, prism, requires, thread


@prism("device")
@requires(block[1], thread[128])
def case(n: int @ block[1]):
    acc: fragment(float, 64, 64) @ block[1]  # error: decl
