from __future__ import annotations

from prism.lang import id, prism, requires, thread


@prism("device")
@requires(thread[32])
def load(n: int @ thread[32]):
    m: int @ thread[1] = n


@prism("device")
@requires(thread[32])
def case(n: int @ thread[32]):
    load(4 * id(thread[1]) + n)  # error: call-scalar
