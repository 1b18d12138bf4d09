from __future__ import annotations

from prism.lang import block, prism, requires, shared, thread


@prism("device")
@requires(block[1], thread[1])
def case(s: shared(int[4]) @ block[1]):  # error: type
    m: int @ thread[1] = s[0]
