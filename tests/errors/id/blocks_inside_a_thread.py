from __future__ import annotations

from prism.lang import block, group, id, prism, requires, thread


@prism("device")
@requires(block[1], thread[32])
def case(n: int @ block[1]):
    with group(thread[1]):
        b: int @ thread[1] = id(block[1])  # error: id
