from __future__ import annotations

from prism.lang import prism, requires, thread


@prism("device")
@requires(thread[1])
def case(a: int[4] @ thread[1], b: int[4] @ thread[1]):
    a = b  # error: type
