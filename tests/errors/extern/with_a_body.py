from __future__ import annotations

from prism.lang import extern, prism, requires, thread


@prism("device")
@requires(thread[1])
@extern("return n + 1;")
def case(n: int @ thread[1]) -> int @ thread[1]:  # error: extern
    return n + 1
