from __future__ import annotations

from prism.lang import prism, requires, thread, uint32


@prism("device")
@requires(thread[32])
def shfl_up(v: uint32 @ thread[1], d: uint32 @ thread[32]) -> uint32 @ thread[1]:  # error: extern
    """Implemented in CUDA."""
    pass


@prism("device")
@requires(thread[32])
def case(v: uint32 @ thread[1]):
    above: uint32 @ thread[1] = shfl_up(v, 1)
