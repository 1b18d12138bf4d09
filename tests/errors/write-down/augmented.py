from __future__ import annotations

from prism.lang import id, prism, requires, thread


@prism("device")
@requires(thread[32])
def case(n: int @ thread[32]):
    lane: int @ thread[1] = id()
    sum: int @ thread[32] = n
    sum += 2 * lane + 1  # error: write-down
