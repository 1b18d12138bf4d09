from __future__ import annotations

WEIGHTS = [1, 2, 1]

from prism.lang import prism, requires, thread


@prism("device")
@requires(thread[1])
def case(n: int @ thread[1]):
    m: int @ thread[1] = WEIGHTS[0]  # error: name
