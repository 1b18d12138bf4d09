from __future__ import annotations

from prism.lang import block, int32, prism, requires, thread
from prism.lib.thread import operators


@prism("device")
@requires(block[1], thread[32])
def case():
    items: int32[3] @ thread[1] = {0}
    block.scan(items, 0, WIDTH=2, OP=operators.add, EXCLUSIVE=False)  # error: static-assert
