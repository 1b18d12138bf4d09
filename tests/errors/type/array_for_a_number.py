import prism
from prism.lang import block, int32, requires, thread
from prism.lib.thread import operators


@prism("device")
@requires(block[1], thread[32])
def case(v: int32 @ thread[1]) -> int32 @ block[1]:
    values: int32[4] @ thread[1] = {0}
    values[0] = v
    return block.reduce(values, OP=operators.add)  # error: type
