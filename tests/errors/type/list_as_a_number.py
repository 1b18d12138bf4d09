from __future__ import annotations

from prism.lang import float32, prism, requires, thread


@prism("device")
@requires(thread[1])
def case(x: float32 @ thread[1]):
    pair: float32 = [x, 1]  # error: type
    pair += x
