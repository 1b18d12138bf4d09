from __future__ import annotations

from prism.lang import float32, prism, requires, thread  # noqa: F401


@prism("device")
@requires(thread[1])
def case(value: int @ thread[1]) -> int @ thread[1]:
    other: flaot32 = 1.5  # error: name
    pair: uint2 = uint2(1, 2)  # error: name
    return vlaue  # error: name
