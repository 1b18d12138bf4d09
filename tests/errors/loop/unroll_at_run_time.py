from __future__ import annotations

from prism.lang import prism, requires, thread


@prism("device")
@requires(thread[1])
def case(n: int @ thread[1]):
    for i in range(8, unroll=n):  # error: loop
        m: int @ thread[1] = i
