from __future__ import annotations

from prism.lang import block, const, group, id, int32, prism, ptr, requires, shared, thread


@prism("device")
@requires(thread[1])
def total(row: ptr(const(int32)) @ thread[1], n: int32 @ thread[1]) -> int32 @ thread[1]:
    sum: int32 = 0
    for k in range(n):
        sum += row[k]
    return sum


@prism("device")
@requires(block[1], thread[32])
def case():
    s: shared(int32[4, 32])
    t: int32 @ thread[1] = id()
    with group(thread[1]):
        v: int32 = total(s[t % 4], 32)  # error: call-ptr
        v += 1
