from __future__ import annotations

from prism.lang import int32, prism, requires, struct, thread, warp_sum


@struct
class Pair:
    key: int32
    value: int32


@prism("device")
@requires(thread[32])
def case(pair: Pair @ thread[1]):
    total: int32 @ thread[32] = warp_sum(pair)  # error: type
