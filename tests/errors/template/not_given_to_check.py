from __future__ import annotations

from prism.lang import dtype, prism, requires, template, thread


@prism("device")
@requires(thread[1])
@template(T=dtype)
def case(n: T @ thread[1]):  # error: template
    m: T @ thread[1] = n
