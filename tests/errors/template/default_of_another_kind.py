from prism.lang import constexpr, int32, prism, requires, template, thread


@prism("device")
@template(N=constexpr(int, default=8), HALF=constexpr(int, default=lambda N: N / 2))  # error: template
@requires(thread[1])
def case(x: int32 @ thread[1]) -> int32 @ thread[1]:
    return x * HALF
