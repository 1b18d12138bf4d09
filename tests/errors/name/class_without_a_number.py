import enum

import prism
from prism.lang import int32, requires, thread


class Mode(enum.Enum):
    FAST = "fast"


class Limits:
    rows = [1, 2]


@prism("device")
@requires(thread[1])
def case(n: int32 @ thread[1]) -> int32 @ thread[1]:
    if n > Limits.rows:  # error: name
        return n
    return n + Mode.FAST + Mode.SLOW  # error: name
