from __future__ import annotations

from prism.lang import constexpr, prism, requires, template, thread


@prism("device")
@requires(thread[1])
@template(N=constexpr(int))
def f(x: int @ thread[1]):
    y: int[N] @ thread[1]


@prism("device")
@requires(thread[1])
def case(n: int @ thread[1]):
    f(n)  # error: template
