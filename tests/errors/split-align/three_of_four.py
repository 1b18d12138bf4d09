from __future__ import annotations

from prism.lang import prism, requires, split, thread


@prism("device")
@requires(thread[4])
def case(n: int @ thread[4]):
    match split(thread):
        case 3:  # error: split-align
            m: int @ thread[1] = n
