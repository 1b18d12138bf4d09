"""The paper's scan, as printed: the grid's words go to a function that may write them for its block."""

from __future__ import annotations

from prism.lang import block, claim, grid, group, int32, prism, ptr, requires, split, thread


@prism("device")
@requires(block[1], thread[1])
def write_total(total: int32 @ block[1], tile: int32 @ block[1], words: ptr(int32) @ block[1]):
    with claim(words, thread[1], offset=tile) as word:
        match split(thread):
            case 1:
                word[0] = total


@prism("global")
@requires(grid[1], block[1], thread[32])
def case(words: ptr(int32) @ grid[1]):
    with group(block[1]):
        write_total(1, 0, words)  # error: call-ptr
