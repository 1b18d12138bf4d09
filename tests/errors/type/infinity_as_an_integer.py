from __future__ import annotations

from prism.lang import prism, requires, thread


@prism("device")
@requires(thread[1])
def case(n: int @ thread[1]):
    m: int @ thread[1] = int(1e400)  # error: type
