"""The paper's wrapper of a shuffle, as declared: for one thread, where a warp must come together."""

from __future__ import annotations

from prism.lang import prism, requires, shuffle_up, thread, uint32


@prism("device")
@requires(thread[1])
def case(value: uint32 @ thread[1], delta: uint32 @ thread[1]) -> uint32 @ thread[1]:
    return shuffle_up(value, delta)  # error: call-bound
