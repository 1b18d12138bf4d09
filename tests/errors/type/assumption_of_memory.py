from __future__ import annotations

from prism.lang import assume, const, prism, ptr, requires, thread


@prism("device")
@requires(thread[1])
def case(x: ptr(const(int)) @ thread[1]):
    assume(x[0] > 0)  # error: type
