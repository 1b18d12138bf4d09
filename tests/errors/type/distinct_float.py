from __future__ import annotations

from prism.lang import assume, distinct, prism, requires, thread


@prism("device")
@requires(thread[1])
def case(x: float @ thread[1]):
    assume(distinct(x))  # error: type
