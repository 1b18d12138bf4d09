from __future__ import annotations

from prism.lang import prism, requires, thread


@prism("device")
@requires(thread[1])
def other(n: int @ thread[1]):
    case(n)  # error: recursion


@prism("device")
@requires(thread[1])
def case(n: int @ thread[1]):
    other(n)
