from __future__ import annotations

from prism.lang import int32, prism, requires, thread


@prism("device")
@requires(thread[1])
def scaled(x: int32 @ thread[1], by: int32 @ thread[1], more: int32 @ thread[1] = 0) -> int32 @ thread[1]:
    return x * by + more


@prism("device")
@requires(thread[1])
def case(x: int32 @ thread[1]) -> int32 @ thread[1]:
    return scaled(x, 2) + scaled(x, more=1)  # error: type
