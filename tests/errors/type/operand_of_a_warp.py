from __future__ import annotations

from prism.lang import fragment, int8, prism, requires, thread, warp


@prism("device")
@requires(thread[32])
def case(n: int @ thread[32]):
    p: fragment(int8, 16, 64, operand=True) @ warp[1]  # error: type
