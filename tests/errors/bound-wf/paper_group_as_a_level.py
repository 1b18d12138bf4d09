"""The paper's scan of the warps' ends, as printed: `group` opens a scope; it is no level."""

from __future__ import annotations

from prism.lang import block, group, prism, requires, thread, uint32


@prism("device")
@requires(block[1], thread[32])
def case():
    stride: uint32 @ group[1] = 1  # error: bound-wf
    while stride < 32:
        stride *= 2
