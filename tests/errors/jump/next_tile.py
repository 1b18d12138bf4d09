"""As in the paper's bf16 product, threads beyond the edge go on to the next tile; here their block has more to do in this one."""

from __future__ import annotations

from prism.lang import block, group, id, partition, prism, ptr, requires, thread


@prism("device")
@requires(block[1], thread[32])
def case(x: ptr(float) @ block[1], n: int @ block[1]):
    for tile in range(4):
        t: int @ thread[1] = id()
        with partition(x, thread[1], offset=tile * 32 + t) as mine:
            with group(thread[1]):
                if tile * 32 + t >= n:
                    continue  # error: jump
                mine[0] = 0.0
        last: int = tile
