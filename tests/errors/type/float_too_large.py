import prism
from prism.lang import float16, float32, requires, thread


@prism("device")
@requires(thread[1])
def case(x: float32 @ thread[1]) -> float32 @ thread[1]:
    h: float16 = 1e6  # error: type
    large: float16 = 70000  # error: type
    return x + 1e39 + h + large  # error: type
