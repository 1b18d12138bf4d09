"""Blocks of a cluster that send numbers to each other: by `st_async` through a ring, and by an object of all of them.

Two roles of each block send tiles on, by a shift that may change from trip to trip, and add up what comes. Before, behind, or in
a loop around that, threads exchange their numbers: each block writes its own row and reads another one, or the other way round,
so that blocks reach into others that may not have begun, or may have ended. A model in NumPy moves the numbers. A mistake in some
programs must be refused: a shift that leads nowhere, or differs between blocks, trips that do, and an engine that would read
another block's memory, or what was sent.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from tests.generated.derive import indent
from tests.generated.edges_verify import Edge

PRIME = 1021
"""Numbers are kept below it, so that nothing overflows."""
MISTAKES = {
    "nowhere": "a store to another block that stays in its own",
    "shift": "blocks that send by shifts of their own leave some without what they wait for",
    "trips": "a block that makes fewer trips leaves others waiting",
    "far": "the copy engine takes the block's own shared memory",
    "engine": "no fence shows the engine what other blocks' threads have stored",
}


class Writer:
    """Writes one program, and its model beside it."""

    def __init__(self, seed: int) -> None:
        rng = self.random = random.Random(seed)
        self.blocks, self.clusters = rng.choice((2, 2, 3, 4)), rng.choice((1, 1, 2))
        self.readers, self.copies = rng.choice((1, 2)), rng.choice((1, 2, 3))
        self.senders = rng.choice((1, self.readers))
        self.width = 32 * self.readers
        self.threads = 32 * (self.readers + self.senders)
        self.trips, self.around = rng.choice((0, 1, 2, 5)), rng.choice((0, 0, 1, 2))
        self.rising = self.blocks > 2 and rng.random() < 0.5
        self.shift = rng.randrange(1, self.blocks)
        self.turn, self.step = rng.randrange(self.width), rng.choice((1, 3, 5))
        self.mistake = rng.choice(list(MISTAKES)) if rng.random() < 0.2 else ""
        self.names = 0

    # -- what is sent through the ring

    def shift_text(self) -> str:
        """How far a trip's numbers go."""
        if self.mistake == "nowhere":
            return str(self.blocks)
        if self.mistake == "shift":
            return "1 + r"
        return f"1 + k % {self.blocks - 1}" if self.rising else str(self.shift)

    def sent(self) -> list[str]:
        each = self.readers // self.senders
        store = f"st_async(mine[j], x[(b * n + k) * {self.width} + {each} * t + j], {self.shift_text()})"
        fetch = [
            "with claim(ring, readers) as tile:",
            "    t: int32 @ thread[1] = id()",
            "    with group(thread[1]):",
            f"        v = (3 * v + tile[({self.step} * t + {self.turn}) % {self.width}]) % {PRIME}",
        ]
        if self.mistake == "engine":
            fetch = ["with claim(ring, readers) as tile, one(thread):", "    bulk_store(out[0], tile)"]
        return [
            f"ring: shared(int32[{self.width}], ring={self.copies})",
            f"readers, senders = roles(warp, {self.readers}, {self.senders})",
            f"for k in range({'n + r' if self.mistake == 'trips' else 'n'}):",
            "    with claim(ring, senders) as tile:",
            "        t: int32 @ thread[1] = id()",
            f"        with partition(tile, thread[1], {each} * t) as mine, group(thread[1]):",
            f"            for j in range({each}):",
            f"                {store}",
            *indent(fetch),
        ]

    def run_sent(self, v: Any, x: Any) -> Any:
        at = (self.step * np.arange(self.width) + self.turn) % self.width
        for k in range(self.trips):
            shift = 1 + k % (self.blocks - 1) if self.rising else self.shift
            came = np.roll(x[:, :, k], shift, axis=1)
            v = (3 * v + came[:, :, at]) % PRIME
        return v

    # -- what is exchanged through an object of the cluster

    def exchanged(self, own: bool) -> list[str]:
        """Each block writes its row, and reads the next one's; or it writes the next one's, and reads its own."""
        self.names += 1
        box, last = f"box{self.names}", self.width - 1
        here, there = ("r", f"(r + 1) % {self.blocks}") if own else (f"(r + 1) % {self.blocks}", "r")
        lines = [
            f"{box}: shared(int32[{self.blocks}, {self.width}], align=128)",
            f"with partition({box}, thread[1], lambda j: ({here}, u + j)) as place, group(thread[1]):",
            f"    if u < {self.width}:",
            "        place[0] = v",
            "with group(thread[1]):",
            f"    if u < {self.width}:",
            f"        v = ({box}[{there}, {last} - u] + 1) % {PRIME}",
        ]
        if self.mistake == "far":
            lines += [
                "with group(block[1]), one(thread):",
                f"    bulk_store(out[0], {box}[(r + 1) % {self.blocks}, 0], 32)",
            ]
        return lines

    def run_exchanged(self, v: Any, own: bool) -> Any:
        return (np.roll(v, -1 if own else 1, axis=1)[:, :, ::-1] + 1) % PRIME

    # -- the program

    def program(self) -> Edge:
        before, behind = (self.random.choice((None, True, False)) for _ in range(2))
        if self.mistake == "far":
            behind = True
        inner = [] if before is None else self.exchanged(before)
        inner += ["with group(block[1]):", *indent(self.sent())]
        inner += [] if behind is None else self.exchanged(behind)
        if self.around:
            inner = [f"for o in range({self.around}):", *indent(inner)]
        rows, size = self.clusters * self.blocks, self.width
        text = "\n".join(
            [
                '@prism("global")',
                f'@attr("__launch_bounds__({self.threads})")',
                f"@requires(grid[1], block[{self.blocks}], thread[{self.threads}])",
                "def kernel(x: ptr(const(int32)) @ grid[1], y: ptr(int32) @ grid[1], n: int32 @ grid[1]):",
                "    b: int32 @ block[1] = id()",
                f"    with partition(y, block[1], {size} * id()) as out, group(block[{self.blocks}]):",
                "        r: int32 @ block[1] = id()",
                f"        u: int32 @ thread[1] = id() % {self.threads}",
                "        v: int32 @ thread[1] = u",
                *indent(indent(inner)),
                "        with group(block[1]):",
                f"            readers, senders = roles(warp, {self.readers}, {self.senders})",
                "            t: int32 @ thread[1] = id()",
                "            with partition(out, thread[1], t) as mine, readers, group(thread[1]):",
                "                mine[0] = v",
                "",
            ]
        )
        return self.edge(text, before, behind, rows)

    def edge(self, text: str, before: bool | None, behind: bool | None, rows: int) -> Edge:
        given = np.random.default_rng(rows).integers(0, PRIME, rows * max(self.trips, 1) * self.width, np.int32)
        x = given.astype(np.int64).reshape(self.clusters, self.blocks, max(self.trips, 1), self.width)
        v = np.broadcast_to(np.arange(self.width), (self.clusters, self.blocks, self.width))
        for _ in range(self.around or 1):
            v = v if before is None else self.run_exchanged(v, before)
            v = self.run_sent(v, x)
            v = v if behind is None else self.run_exchanged(v, behind)
        wrong = bool(self.mistake)
        return Edge(
            text, rows, self.threads, lambda: [given.copy(), np.zeros(rows * self.width, np.int32), np.int32(self.trips)],
            (1,), None if wrong else [v.astype(np.int32).ravel()], legal=not wrong,
            why=MISTAKES.get(self.mistake, "all blocks send and read alike, and reach into each other"),
        )  # fmt: skip


def program(seed: int) -> Edge:
    """Return the program of a seed."""
    return Writer(seed).program()
