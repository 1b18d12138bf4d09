"""Kernels of any length, for the checker's time: declarations, loops, groups and partitions, one after the other."""

from __future__ import annotations

HEAD = """\
from __future__ import annotations

from prism.lang import *
from prism.lang import prism


@prism("device")
@requires(thread[32])
def step(value: int32 @ thread[1], n: int32 @ thread[32]) -> int32 @ thread[32]:
    return broadcast(value + n, 3)


@prism("global")
@requires(grid[1], block[1], thread[64])
def kernel(out: ptr(int32) @ grid[1], x: ptr(const(int32)) @ grid[1], n: int32 @ grid[1]):
    with partition(out, block[1], offset=id() * 64) as tile:
        with group(block[1]):
            s: shared(int32[64]) @ block[1]
            u: int32 @ thread[1] = id()
            v0: int32 @ thread[1] = u
"""
PART = """\
v{k}: int32 @ thread[1] = v{j} * 3 + u % {odd}
with partition(s, thread[1], offset=u) as p{k}:
    with group(thread[1]):
        p{k}[0] = v{k} + n
for k in range(n):
    v{k} += s[(u + {k}) % 64] if k % 2 == 0 else x[k]
    if k > {odd}:
        break
w{k}: int32 @ thread[32] = step(v{k}, n)
match split(warp):
    case 1:
        with group(thread[1]):
            v{k} -= w{k}
    case 1:
        v{k} += {k}
"""
TAIL = """\
with partition(tile, thread[1], offset=u) as o:
    with group(thread[1]):
        o[0] = v{k}
"""


def long(lines: int) -> str:
    """Return a kernel of about so many lines."""
    parts = max(1, (lines - len(HEAD.splitlines())) // len(PART.splitlines()))
    body = "".join(PART.format(k=k, j=k - 1, odd=2 * k % 61 + 1) for k in range(1, parts + 1)) + TAIL.format(k=parts)
    return HEAD + "".join(f"            {line}\n" for line in body.splitlines())
