from __future__ import annotations

from prism.lang import const, prism, requires, thread


@prism("device")
@requires(thread[1])
def clear(values: float[4] @ thread[1]):
    values[0] = 0.0


@prism("device")
@requires(thread[1])
def case(values: const(float[4]) @ thread[1]):
    clear(values)  # error: call-ptr
