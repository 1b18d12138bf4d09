from __future__ import annotations

from prism.lang import block, group, half, id, prism, requires, shared, stmatrix, thread, uint32


@prism("device")
@requires(block[1], thread[64])
def case():
    s: shared(half[256], align=16)
    r: uint32[1] @ thread[1] = {0}
    with group(thread[32]):
        stmatrix(s[id(thread[1]) * 8], r)  # error: call-ptr
