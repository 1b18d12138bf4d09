from __future__ import annotations

from prism.lang import fragment, int8, prism, requires, thread, warpgroup


@prism("device")
@requires(thread[128])
def case(n: int @ thread[128]):
    p: fragment(int8, 64, 48, operand=True) @ warpgroup[1]  # error: type
