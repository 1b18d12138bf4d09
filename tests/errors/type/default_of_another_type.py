from __future__ import annotations

from prism.lang import bool_, int32, prism, requires, thread


@prism("device")
@requires(thread[1])
def case(
    n: int32 @ thread[1] = 1.5,  # error: type
    flag: bool_ @ thread[1] = 1,  # error: type
) -> int32 @ thread[1]:
    return n if flag else 0
