from __future__ import annotations

from prism.lang import CUtensorMap, bf16, prism, requires, thread


@prism("device")
@requires(thread[1])
def case(map_x: CUtensorMap(bf16, 64, 64) @ thread[1]):  # error: type
    n: int = 0
