from __future__ import annotations

from prism.lang import float32, fragment, prism, requires, struct, thread, warpgroup


@struct
class Affine:
    scale: float32
    shift: float32


@prism("device")
@requires(thread[128])
def case(n: int @ thread[128]):
    acc: fragment(Affine, 64, 64) @ warpgroup[1]  # error: type
