from __future__ import annotations

import numpy as np

from prism.lang import float32, prism, requires, thread


@prism("device")
@requires(thread[1])
def case(x: float32 @ thread[1]) -> float32 @ thread[1]:
    return np.exp(x)  # error: name
