import prism
from prism.lang import float32, requires, thread


@prism("device")
@requires(thread[1])
def case(x: float32 @ thread[1]) -> float32 @ thread[1]:
    if isinf(x):  # error: name
        return 0
    return log1p(x)  # error: name
