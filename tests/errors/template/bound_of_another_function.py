from __future__ import annotations

from prism.lang import block, constexpr, prism, requires, template, thread


@prism("device")
@template(ABROAD=constexpr(int))
@requires(block[1], thread[ABROAD])
def f(x: int @ block[1]):
    y: int @ block[1] = x


@prism("device")
@requires(block[1], thread[ABROAD])  # error: template
def case(n: int @ block[1]):
    m: int @ block[1] = n
