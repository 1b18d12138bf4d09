from __future__ import annotations

from prism.lang import int8, prism, requires, thread


@prism("device")
@requires(thread[1])
def case(n: int8 @ thread[1] = 200) -> int8 @ thread[1]:  # error: type
    return n
