from __future__ import annotations

from prism.lang import block, group, mma_m16n8k8_tf32, prism, requires, thread, uint32


@prism("device")
@requires(block[1], thread[32])
def case():
    a: uint32[4] @ thread[1] = {0}
    b: uint32[2] @ thread[1] = {0}
    c: float[4] @ thread[1] = {0}
    with group(thread[1]):
        mma_m16n8k8_tf32(a, b, c)  # error: call-bound
