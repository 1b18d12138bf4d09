from __future__ import annotations

from prism.lang import intrinsic, prism, requires, thread, uint32


@prism("device")
@requires(thread[32])
def case(a: uint32 @ thread[1], c: float @ thread[1]):
    d: float[4] @ thread[1]
    intrinsic.mma(a, a, a, a, a, a, c, c, c, c, out=[d[0], d[1], d[2]])  # error: type
