from __future__ import annotations

from prism.lang import float32, prism, requires, struct, thread


@struct
class Affine:
    scale: float32
    shift: float32


@prism("device")
@requires(thread[1])
def case(f: Affine @ thread[1]) -> float32 @ thread[1]:
    return f.scale + f.offset  # error: type
