from __future__ import annotations

from prism.lang import int32, prism, requires, thread


@prism("device")
@requires(thread[1])
def place(n: int32 @ thread[1]) -> (int32, int32, int32) @ thread[1]:
    return n, n + 1, n + 2


@prism("device")
@requires(thread[1])
def case(n: int32 @ thread[1]):
    a: int32 = 0
    b: int32 = 0
    a, b = place(n)  # error: type
