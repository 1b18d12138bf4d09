from __future__ import annotations

from prism.lang import float32, prism, ptr, requires, struct, thread


@struct
class Affine:
    scale: float32
    shift: float32


@prism("device")
@requires(thread[1])
def case(p: ptr(Affine) @ thread[1], value: float32 @ thread[1]):
    p[0].shift = value  # error: type
