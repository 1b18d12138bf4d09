from __future__ import annotations

from prism.lang import float64, grid, mailbox, prism, ptr, requires, struct, thread


@struct
class Moments:
    count: float64
    mean: float64
    square: float64


@prism("device")
@requires(thread[1])
def case(words: ptr(mailbox(Moments)) @ grid[1]) -> int @ thread[1]:  # error: type
    return 0
