from __future__ import annotations

from prism.lang import prism, requires, thread, unsafe


@prism("device")
@requires(thread[1])
def case(n: int @ thread[1]):
    unsafe("n += 1;", changes=[n])  # error: unsafe
