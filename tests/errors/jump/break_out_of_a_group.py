from __future__ import annotations

from prism.lang import block, group, prism, requires, thread


@prism("device")
@requires(block[1], thread[1])
def case(n: int @ block[1]):
    while n > 0:
        with group(thread[1]):
            break  # error: jump
