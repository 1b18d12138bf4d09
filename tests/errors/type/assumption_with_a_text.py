from __future__ import annotations

from prism.lang import assume, prism, requires, thread


@prism("device")
@requires(thread[1])
def case(n: int @ thread[1]):
    assume(n > 0, "positive")  # error: type
