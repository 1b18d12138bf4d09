from __future__ import annotations

from prism.lang import prism, requires, shared, thread


@prism("device")
@requires(thread[32])
def case(n: int @ thread[32]):
    s: shared(int[4]) @ thread[32]  # error: shared-alloc
