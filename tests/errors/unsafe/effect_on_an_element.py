from __future__ import annotations

from prism.lang import prism, ptr, requires, thread, unsafe


@prism("device")
@requires(thread[1])
def case(p: ptr(int) @ thread[1]):
    unsafe("p[0] = 1;", writes=[p[0]])  # error: unsafe
