from __future__ import annotations

from prism.lang import float32, prism, requires, struct, thread


@struct
class Affine:
    scale: float32
    shift: float32


@prism("device")
@requires(thread[1])
def case(n: float32 @ thread[1], value: Affine @ thread[1]):
    f: Affine @ thread[1] = 0  # error: type
    g: Affine @ thread[1] = Affine(n)  # error: type
    h: float32 @ thread[1] = float32(value)  # error: type
