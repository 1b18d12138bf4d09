from __future__ import annotations

from prism.lang import extern, prism, ptr, requires, thread


@prism("device")
@requires(thread[1])
@extern("p[0] = n;", writes=["n"])  # error: extern
def case(p: ptr(int) @ thread[1], n: int @ thread[1]):
    pass
