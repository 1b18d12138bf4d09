from __future__ import annotations

from prism.lang import const, prism, ptr, requires, thread


@prism("device")
@requires(thread[1])
def fill(c: ptr(float) @ thread[1]):
    c[0] = 0.0


@prism("device")
@requires(thread[1])
def case(x: ptr(const(float)) @ thread[1]):
    fill(x)  # error: call-ptr
