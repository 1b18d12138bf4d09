from __future__ import annotations

from prism.lang import group, prism, requires, split, thread


@prism("device")
@requires(thread[768])
def case(n: int @ thread[768]):
    with group(thread[384]):
        match split(thread):
            case 256:  # error: split-align
                m: int @ thread[1] = n
            case 128:
                k: int @ thread[1] = n
