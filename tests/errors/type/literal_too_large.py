from __future__ import annotations

from prism.lang import prism, requires, thread, uint8


@prism("device")
@requires(thread[1])
def case(n: int @ thread[1]):
    m: uint8 @ thread[1] = 256  # error: type
