from __future__ import annotations

from prism.lang import print_, prism, requires, thread


@prism("device")
@requires(thread[1])
def case(n: int @ thread[1]):
    print_(n)  # error: type
