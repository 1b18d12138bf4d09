from __future__ import annotations

from prism.lang import const, prism, ptr, requires, thread, unsafe


@prism("device")
@requires(thread[1])
def case(p: ptr(const(int)) @ thread[1]):
    unsafe("asm volatile(\"\" :: \"l\"(p));", writes=[p])  # error: const
