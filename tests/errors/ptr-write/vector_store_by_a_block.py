from __future__ import annotations

from prism.lang import block, prism, ptr, requires, store_vector, thread, vector


@prism("device")
@requires(block[1], thread[32])
def case(y: ptr(float) @ block[1], v: vector(float, 4) @ thread[1]):
    store_vector(y[0], v)  # error: ptr-write
