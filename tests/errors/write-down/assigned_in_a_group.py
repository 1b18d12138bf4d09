from __future__ import annotations

from prism.lang import block, group, prism, requires, thread


@prism("device")
@requires(block[1], thread[1])
def case(n: int @ block[1]):
    y: int @ block[1] = 0
    with group(thread[1]):
        y = 1  # error: write-down
