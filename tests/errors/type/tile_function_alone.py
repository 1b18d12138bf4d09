from __future__ import annotations

from prism.lang import const, prism, requires, shared, thread


@prism("device")
@requires(thread[1])
def case(tile: const(shared(float[32])) @ thread[1], found: float[1] @ thread[1]):  # error: type
    found[0] = tile[0]
