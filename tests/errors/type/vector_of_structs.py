from __future__ import annotations

from prism.lang import float32, prism, requires, struct, thread, vector


@struct
class Point:
    x: float32
    y: float32
    z: float32


@prism("device")
@requires(thread[1])
def case():
    p: vector(Point, 1) @ thread[1]  # error: type
