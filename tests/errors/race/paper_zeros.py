"""The paper's main figure, as printed: the index is without the thread's number, so all threads clear the same elements."""

from __future__ import annotations

from prism.lang import block, group, partition, prism, requires, shared, thread


@prism("device")
@requires(block[1], thread[32])
def case():
    tile: shared(float[128]) @ block[1]
    with partition(tile, thread[1], lambda x: x * 4) as mine:  # error: race
        for i in range(4):
            with group(thread[1]):
                mine[i] = 0.0
