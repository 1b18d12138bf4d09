from __future__ import annotations

from prism.lang import prism, requires, split, thread


@prism("device")
@requires(thread[4])
def case(n: int @ thread[4]):
    match split(thread):
        case 4:
            m: int @ thread[1] = n
        case 1:  # error: split-sum
            k: int @ thread[1] = n
