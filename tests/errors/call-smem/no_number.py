from __future__ import annotations

from prism.lang import block, id, prism, requires, shared, thread


@prism("device")
@requires(block[1], thread[32], smem=id())  # error: call-smem
def case(n: int @ block[1]):
    buffer: shared(float[128]) @ block[1]
