from __future__ import annotations

from prism.lang import int32, prism, requires, thread


@prism("device")
@requires(thread[1])
def case(n: int32 @ thread[1] = True) -> int32 @ thread[1]:  # error: type
    return n
