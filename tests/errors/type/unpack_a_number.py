from __future__ import annotations

from prism.lang import int32, prism, requires, thread


@prism("device")
@requires(thread[1])
def case(n: int32 @ thread[1]):
    a: int32 = 0
    b: int32 = 0
    a, b = n + 1  # error: type
