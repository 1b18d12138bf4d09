from __future__ import annotations

from prism.lang import assert_, block, id, prism, requires, thread


@prism("device")
@requires(block[1], thread[32])
def case():
    t: int @ thread[1] = id()
    assert_(t < 32, "in the warp")  # error: cond
