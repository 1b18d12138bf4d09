from __future__ import annotations

from prism.lang import double, prism, requires, thread, vector


@prism("device")
@requires(thread[1])
def case(n: int @ thread[1]):
    v: vector(double, 4) @ thread[1]  # error: type
