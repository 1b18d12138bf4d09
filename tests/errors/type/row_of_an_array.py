from __future__ import annotations

from prism.lang import prism, requires, row, thread


@prism("device")
@requires(thread[1])
def case(n: int @ thread[1]):
    acc: float[4] = {0}
    r: int = row(acc, 0)  # error: type
