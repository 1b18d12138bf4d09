from __future__ import annotations

from prism.lang import bitcast, double, prism, requires, thread, uint32


@prism("device")
@requires(thread[1])
def case(x: double @ thread[1]):
    bits: uint32 @ thread[1] = bitcast(x, uint32)  # error: type
