from __future__ import annotations

from prism.lang import int32, prism, requires, static_assert, thread


@prism("device")
@requires(thread[1])
def case(n: int32 @ thread[1]):
    static_assert(n > 0, "there is something")  # error: static-assert
