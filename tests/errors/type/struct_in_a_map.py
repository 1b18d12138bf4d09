from __future__ import annotations

from prism.lang import CUtensorMap, const, float32, grid, prism, requires, struct, thread


@struct
class Affine:
    scale: float32
    shift: float32


@prism("device")
@requires(thread[1])
def case(p: const(CUtensorMap(Affine, 16, 16)) @ grid[1]) -> int @ thread[1]:  # error: type
    return 0
