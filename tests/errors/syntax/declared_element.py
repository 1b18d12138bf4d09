from __future__ import annotations

from prism.lang import prism, requires, thread


@prism("device")
@requires(thread[1])
def case(n: int @ thread[1]):
    items: int[4] @ thread[1] = {0}
    items[0]: int @ thread[1] = n  # error: syntax
