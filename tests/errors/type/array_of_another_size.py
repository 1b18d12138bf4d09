from __future__ import annotations

from prism.lang import prism, requires, thread


@prism("device")
@requires(thread[1])
def f(items: int[4] @ thread[1]):
    items[0] = 1


@prism("device")
@requires(thread[1])
def case(a: int[8] @ thread[1]):
    f(a)  # error: type
