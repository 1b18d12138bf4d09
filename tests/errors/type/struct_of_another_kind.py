from __future__ import annotations

from prism.lang import float32, int32, prism, requires, struct, thread


@struct
class Affine:
    scale: float32
    shift: float32


@struct
class Pair:
    key: int32
    value: float32


@prism("device")
@requires(thread[1])
def case(f: Affine @ thread[1], p: Pair @ thread[1], first: bool @ thread[1]) -> Affine @ thread[1]:
    g: Affine @ thread[1] = p  # error: type
    return f if first else p  # error: type
