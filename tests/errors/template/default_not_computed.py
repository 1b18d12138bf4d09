from prism.lang import constexpr, int32, prism, requires, template, thread


@prism("device")
@template(N=constexpr(int, default=0), PART=constexpr(int, default=lambda N: 64 // N))  # error: template
@requires(thread[1])
def part(x: int32 @ thread[1]) -> int32 @ thread[1]:
    return x * PART


@prism("device")
@requires(thread[1])
def case(x: int32 @ thread[1]) -> int32 @ thread[1]:
    return part(x, N=2) + part(x)
