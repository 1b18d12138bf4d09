from __future__ import annotations

from prism.lang import float32, prism, requires, thread


@prism("device")
@requires(thread[1])
def case(x: float32 @ thread[1]):
    matrix: float32[2, 2] = [[1, x], x]  # error: type
    matrix[0, 0] = x
