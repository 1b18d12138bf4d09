from __future__ import annotations

from prism.lang import mma_m16n8k8_tf32, prism, requires, thread, uint32


@prism("device")
@requires(thread[32])
def case():
    a: float[4] @ thread[1]
    b: uint32[2] @ thread[1]
    c: float[4] @ thread[1] = {0}
    mma_m16n8k8_tf32(a, b, c)  # error: type
