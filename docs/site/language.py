"""The pictures of the language: docs/pictures/language/NAME.svg. `python -m docs.site.language` writes them."""

from __future__ import annotations

import sys

from docs.site import drawing
from docs.site.drawing import Drawing


def perspectives() -> Drawing:
    """Levels as nested boxes, and for whom a value speaks."""
    picture = Drawing(760, 330, "Perspectives: a grid has blocks, a block has warps, a warp has threads")
    picture.box(10, 10, 470, 310, "grid", "grid[1]")
    for b in range(2):
        picture.box(26 + 226 * b, 36, 212, 270, "block", "block[1]")
        for w in range(2):
            x, y = 38 + 226 * b, 64 + 118 * w
            picture.box(x, y, 188, 106, "warp", "warp[1]")
            picture.cells(x + 12, y + 34, ["0", "1", "2", "..", "31"], "thread", 33)
            picture.text(x + 12, y + 82, "thread[1], 32 of them", "code")
    rows = (
        (40, "grid", "n: int32 @ grid[1]", "one number for the whole launch"),
        (108, "block", "sum: int32 @ block[1]", "one number for each block"),
        (176, "warp", "w: int32 @ warp[1]", "one number for each warp"),
        (244, "thread", "i: int32 @ thread[1]", "each thread has its own"),
    )
    for y, kind, code, said in rows:
        picture.box(500, y, 14, 44, kind)
        picture.text(524, y + 17, code, "code")
        picture.text(524, y + 36, said, "soft")
    return picture


def partition() -> Drawing:
    """Who may write: each unit a part, or one unit all of it."""
    picture = Drawing(760, 316, "Partition gives each thread a part, claim gives all to one warp")
    picture.text(10, 24, "y: ptr(float32) @ grid[1]", "code")
    picture.text(250, 24, "memory of the whole grid: all may read it, no thread may write it", "soft")
    picture.cells(10, 34, [f"y[{k}]" for k in range(8)], "grid", 58)
    picture.text(10, 96, "with partition(y, thread[1], id()) as mine:", "code")
    picture.text(470, 96, "each thread gets a part, and may write it", "soft")
    for k in range(8):
        picture.way(39 + 58 * k, 102, 39 + 58 * k, 122)
    picture.cells(10, 124, ["mine[0]"] * 8, "thread", 58)
    picture.text(490, 142, "thread k: mine[0] is y[k]", "soft")
    picture.text(10, 196, "with claim(tile, first_warp) as own:", "code")
    picture.text(470, 196, "one warp gets all; other warps do", "soft")
    picture.text(470, 212, "not enter, and can't touch it", "soft")
    picture.cells(10, 230, [f"own[{k}]" for k in range(8)], "warp", 58)
    picture.text(10, 292, "Inside either scope the old name is hidden: two names never reach one element.", "soft")
    return picture


def ring() -> Drawing:
    """A ring of three copies in time: who fills which, and who reads it, one step a fill and a step and a half a use."""
    copies, rounds = 3, 6
    fill, use = 1.0, 1.5
    filled, used = [0.0] * rounds, [0.0] * rounds
    for k in range(rounds):
        filled[k] = fill + max(filled[k - 1] if k else 0.0, used[k - copies] if k >= copies else 0.0)
        used[k] = use + max(used[k - 1] if k else 0.0, filled[k])
    unit, left = 62, 116
    picture = Drawing(760, 226, "A ring of three copies: the producer runs ahead of the consumers")
    kinds = ("block", "warp", "thread")
    picture.text(10, 40, "producer", "code")
    picture.text(10, 120, "consumers", "code")
    for k in range(rounds):
        x, w = left + unit * (filled[k] - fill), unit * fill
        picture.box(x, 20, w - 3, 32, kinds[k % copies])
        picture.text(x + w / 2 - 2, 41, f"fill {k}", "", "middle")
        at, wide = left + unit * (used[k] - use), unit * use
        picture.box(at, 100, wide - 3, 32, kinds[k % copies])
        picture.text(at + wide / 2 - 2, 121, f"use {k}", "", "middle")
        picture.way(x + w - 4, 54, at + 6, 98)
        if k + copies < rounds:
            picture.way(at + wide - 6, 98, left + unit * (filled[k + copies] - fill) + 5, 54)
    for k in range(copies):
        picture.box(left + 90 * k, 166, 20, 18, kinds[k])
        picture.text(left + 26 + 90 * k, 180, f"copy {k}", "soft")
    picture.text(left + 290, 180, "time runs to the right", "soft")
    picture.text(
        10,
        212,
        "Down: what was filled may be used. Up: what was used may be filled again. The compiler makes both waits.",
        "soft",
    )
    return picture


def meet() -> Drawing:
    """A barrier that nobody wrote: what threads write, and what others read."""
    n = 8
    picture = Drawing(760, 262, "A barrier is inferred between a write and another thread's read")
    lines = (
        (40, "tile: shared(int32[64])", ""),
        (72, "slot[0] = x[i]", ""),
        (144, "__syncthreads()", "wall"),
        (214, "y[i] = tile[t] + tile[t + 1]", ""),
    )
    for y, code, kind in lines:
        picture.text(14, y, code, f"code {kind}".strip())
    picture.text(14, 164, "inferred: t wrote tile[t],", "soft")
    picture.text(14, 181, "and thread t - 1 reads it", "soft")
    left = 300
    picture.text(left - 12, 72, "thread", "soft", "end")
    picture.cells(left, 54, range(n), "thread", 50)
    for k in range(n):
        picture.way(left + 25 + 50 * k, 82, left + 25 + 50 * k, 100)
    picture.text(left - 12, 120, "tile", "soft", "end")
    picture.cells(left, 102, range(n), "block", 50)
    picture.barrier(left - 40, 140, left + 50 * n + 14)
    for k in range(n):
        picture.way(left + 25 + 50 * k, 146, left + 25 + 50 * k, 194)
        if k:
            picture.way(left + 20 + 50 * k, 146, left + 31 + 50 * (k - 1), 194)
    picture.text(left - 12, 214, "thread", "soft", "end")
    picture.cells(left, 196, range(n), "thread", 50)
    picture.text(14, 250, "You write the accesses. The compiler finds who must wait for whom, and says why.", "soft")
    return picture


def ways() -> Drawing:
    """One text, and what is made of it."""
    picture = Drawing(760, 200, "One checked program runs on the CPU, on the GPU, and explains itself")
    picture.box(10, 70, 130, 56, "free")
    picture.text(75, 94, "your kernel", "", "middle")
    picture.text(75, 113, "Python", "soft", "middle")
    picture.box(200, 62, 160, 72, "block")
    picture.text(280, 86, "checked", "", "middle")
    picture.text(280, 104, "perspectives agree,", "soft", "middle")
    picture.text(280, 121, "barriers are inferred", "soft", "middle")
    picture.way(142, 98, 198, 98)
    ends = (
        (10, "reference machine", "CPU: races, deadlocks, bounds", "warp"),
        (73, "CUDA C++, machine code", "any GPU from sm_80 on", "thread"),
        (136, "prism explain", "each barrier, and why", "grid"),
    )
    for y, name, said, kind in ends:
        picture.box(440, y, 300, 52, kind)
        picture.text(454, y + 22, name)
        picture.text(454, y + 41, said, "soft")
        picture.way(362, 98, 438, y + 26)
    return picture


def pictures() -> dict[str, str]:
    """Return all pictures by their names."""
    return {make.__name__: make().svg() for make in (perspectives, partition, ring, meet, ways)}


def write(folder: str, made: dict[str, str]) -> int:
    """Write pictures into a folder of docs/pictures."""
    to = drawing.FOLDER / folder
    to.mkdir(parents=True, exist_ok=True)
    for name, text in made.items():
        (to / f"{name}.svg").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(write("language", pictures()))
