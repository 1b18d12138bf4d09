from __future__ import annotations

import math

from prism.lang import float32, prism, requires, thread


@prism("device")
@requires(thread[1])
def case(x: float32 @ thread[1]) -> float32 @ thread[1]:
    y: float32 = math.fabs(x)  # error: name
    return math.ulp(y)  # error: name
