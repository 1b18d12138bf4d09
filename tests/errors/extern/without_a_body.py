from __future__ import annotations

from prism.lang import prism, requires, thread, uint32


@prism("device")
@requires(thread[32])
def case(v: uint32 @ thread[1]) -> uint32 @ thread[1]:  # error: extern
    pass
