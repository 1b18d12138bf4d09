from __future__ import annotations

from prism.lang import prism, requires, split, thread


@prism("device")
@requires(thread[32])
def case(n: int @ thread[32]):
    match split(thread):
        case 0:  # error: split-sum
            m: int @ thread[1] = n
