from __future__ import annotations

from prism.lang import constexpr, prism, requires, thread


@prism("device")
@requires(thread[1])
def case(n: int @ thread[1]):
    N: constexpr(int) = 2 * n  # error: template
