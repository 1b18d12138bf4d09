from __future__ import annotations

from prism.lang import constexpr, prism, requires, template, thread


@prism("device")
@requires(thread[1])
@template(ELSEWHERE=constexpr(int))
def f(x: int @ thread[1]):
    y: int[ELSEWHERE] @ thread[1]


@prism("device")
@requires(thread[1])
def case(n: int @ thread[1]):
    y: int[ELSEWHERE] @ thread[1]  # error: template
