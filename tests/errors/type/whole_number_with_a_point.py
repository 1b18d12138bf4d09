import prism
from prism.lang import int32, requires, thread


@prism("device")
@requires(thread[1])
def case(n: int32 @ thread[1]) -> int32 @ thread[1]:
    one: int32 = 3.0  # error: type
    many: int32 = 5e9  # error: type
    some: int32 = int(5e9)  # error: type
    return n + one + many + some
