from __future__ import annotations

from prism.lang import ballot, prism, requires, split, thread, uint32


@prism("device")
@requires(thread[32])
def case(value: int @ thread[1]):
    match split(thread):
        case 16:
            votes: uint32 @ thread[16] = ballot(value > 0)  # error: call-bound
