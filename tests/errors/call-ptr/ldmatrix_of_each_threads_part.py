from __future__ import annotations

from prism.lang import bf16, block, group, ldmatrix, partition, prism, requires, shared, thread, uint32


@prism("device")
@requires(block[1], thread[32])
def case():
    s: shared(bf16[256], align=16)
    r: uint32[1] @ thread[1]
    with partition(s, thread[1]) as mine:
        with group(thread[32]):
            ldmatrix(mine[0], r)  # error: call-ptr
