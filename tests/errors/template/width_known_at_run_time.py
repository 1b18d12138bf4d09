from __future__ import annotations

from prism.lang import const, load_vector, prism, ptr, requires, thread, vector


@prism("device")
@requires(thread[1])
def case(p: ptr(const(float)) @ thread[1], n: int @ thread[1]):
    v: vector(float, 4) @ thread[1] = load_vector(p[0], n)  # error: template
