from __future__ import annotations

from prism.lang import const, prism, requires, thread


@prism("device")
@requires(thread[1])
def case(n: int @ thread[1]):
    limit: const(int) @ thread[1] = n
    limit = 3  # error: const
