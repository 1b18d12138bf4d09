from __future__ import annotations

def twice(n):
    return 2 * n

from prism.lang import prism, requires, thread


@prism("device")
@requires(thread[1])
def case(n: int @ thread[1]):
    m: int @ thread[1] = twice(n)  # error: name
