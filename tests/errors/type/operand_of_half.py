from __future__ import annotations

from prism.lang import fragment, half, prism, requires, thread, warpgroup


@prism("device")
@requires(thread[128])
def case(n: int @ thread[128]):
    p: fragment(half, 64, 64, operand=True) @ warpgroup[1]  # error: type
