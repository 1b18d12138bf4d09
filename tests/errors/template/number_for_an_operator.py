from __future__ import annotations

from prism.lang import block, prism, requires, thread


@prism("device")
@requires(block[1], thread[32])
def case(n: int @ thread[1]):
    m: int @ block[1] = block.reduce(n, OP=1)  # error: template
