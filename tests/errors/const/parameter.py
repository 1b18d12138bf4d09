from __future__ import annotations

from prism.lang import const, prism, requires, thread


@prism("device")
@requires(thread[1])
def case(n: const(int) @ thread[1]):
    n += 1  # error: const
