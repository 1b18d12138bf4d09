from __future__ import annotations

from prism.lang import prism, requires, thread


@prism("device")
@requires(thread[1])
def case(n: int):  # error: syntax
    m: int @ thread[1] = n
