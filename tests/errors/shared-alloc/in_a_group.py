from __future__ import annotations

from prism.lang import block, group, prism, requires, shared, thread


@prism("device")
@requires(block[1], thread[1])
def case(n: int @ block[1]):
    with group(thread[1]):
        s: shared(int[4]) @ block[1]  # error: shared-alloc
