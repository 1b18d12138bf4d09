from __future__ import annotations

from prism.lang import id, prism, requires, thread


@prism("device")
@requires(thread[32])
def case(n: int @ thread[32]):
    lane: int @ thread[1] = id()
    rows: int[4][4] @ thread[32] = {0}
    rows[0][lane] = n  # error: read-up
