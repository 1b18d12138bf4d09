"""Launches by tuples: arrays and matrices of one to three axes, in parts by the indices of blocks and threads along axes.

A thread has the elements at its indices in the grid, or at those in its block inside of the block's tile; or a few, side by side
or as far apart as there are threads. Axes of the launch are those of the array in any order. What is right is proved. A mistake
leaves an index out, or gives two threads one: it must be refused, or reported and found.
"""

from __future__ import annotations

import math
import random

import numpy as np

import prism
from tests.generated.edges_verify import FAILED, Edge, Outcome, judged, open_ends
from tests.generated.programs import HEAD, loaded

SAMPLE = 20
KERNEL = """\
@prism("global")
@requires(grid[1], block[1], thread[{bound}])
def kernel(y: {type} @ grid[1]{formals}):
{before}
    with partition(y, {unit}, {places}) as {name}:
{body}
"""


class Writer:
    """One program, by its seed."""

    def __init__(self, seed: int) -> None:
        rng = self.rng = random.Random(seed)
        self.axes = rng.choice((1, 2, 2, 2, 3, 3))
        self.bound = rng.choice((1, 1, 1, 8, 32))
        self.threads = [rng.choice((1, 2, 4, 8)) for _ in range(self.axes)]
        self.threads[0] = max(self.threads[0], self.bound // math.prod(self.threads[1:]))
        self.threads[0] += -math.prod(self.threads) % self.bound  # a multiple, as the bound asks for
        while math.prod(self.threads) % self.bound:
            self.threads[0] += 1
        self.blocks = [rng.choice((1, 2, 3)) for _ in range(self.axes)]
        self.order = rng.sample(range(self.axes), self.axes)  # the axis of the launch for each of the array's
        self.flat = rng.random() < 0.4
        self.tiled = rng.random() < 0.4
        self.wide = rng.choice(("int32", "int32", "int64"))
        self.each, self.apart = rng.choice((1, 1, 2, 3)), rng.random() < 0.3
        self.mistake = rng.choice(("left out", "half")) if rng.random() < 0.25 else ""
        self.wrong = rng.randrange(self.axes)
        reach = [b * t for b, t in zip(self.blocks, self.threads, strict=True)]
        self.shape = [max(1, reach[k] - rng.choice((0, 0, 1))) for k in self.order]
        self.shape[-1] *= self.each
        self.stepped = not self.flat and not self.tiled and self.each == 1 and rng.random() < 0.6
        if self.stepped:
            self.shape = [n * rng.choice((1, 2, 3)) + rng.choice((0, 1)) for n in self.shape]

    def index(self, k: int, name: str) -> str:
        """The index along the array's axis k, with a mistake where there is one."""
        if self.mistake and k == self.wrong:
            return "0" if self.mistake == "left out" else f"{name} // 2"
        return name

    def shares(self) -> bool:
        """Whether two threads that are sure to run have one element."""
        along = self.order[self.wrong]
        many = self.threads[along] if self.tiled else self.threads[along] * self.blocks[along]
        return bool(self.mistake) and min(many, self.shape[self.wrong]) > 1

    def program(self) -> Edge:
        """The program, and what it makes."""
        if self.stepped:
            return self.steps()
        axes, last = self.axes, self.axes - 1
        extent = [f"n{k}" if self.flat else f"y.shape[{k}]" for k in range(axes)]
        params = [f"p{k}" for k in range(axes)]
        names = [f"i{k}" for k in range(axes)]
        used = [self.index(k, names[k]) for k in range(axes)]
        declared = [f"i{k}: {self.wide} @ thread[1] = id({self.order[k]})" for k in range(axes)]
        step = f"{extent[last]} // {self.each}" if self.apart and not self.tiled else ""
        if self.each > 1 and not step:
            used[last] = f"({used[last]}) * {self.each}"
        size = [self.threads[self.order[k]] * (self.each if k == last else 1) for k in range(axes)]
        here = [f"i{k} < {self.threads[self.order[k]]}" for k in range(axes)] if self.tiled else []
        add = [f"(b{k}) * {size[k]} + " if self.tiled else "" for k in range(axes)]
        whole = [f"{add[k]}{used[k]}" for k in range(axes)]
        whole[last] += f" + e * ({step})" if step else " + e"
        guards = [f"{whole[k]} < {extent[k]}" for k in range(axes)]
        if step:
            guards.append(f"{used[last]} < {step}")
        tail = "," * (axes == 1)
        parts = (
            f"lambda {', '.join(params)}: ({', '.join(f'{u} + {p}' for u, p in zip(used, params, strict=True))}{tail})"
        )
        access = ["0"] * last + [f"e * ({step})" if step else "e"]
        value = " + ".join(f"{k + 2} * ({whole[k]})" for k in range(axes))
        if self.flat:
            row = whole[0]
            for k in range(1, axes):
                row = f"({row}) * n{k} + {whole[k]}"
            parts, access = f"lambda e: {row}", ["e"]
        text = self.text(declared, parts, [*here, *guards], access, f"int32({value})", extent)
        reached = [min(self.shape[k], size[k] * self.blocks[self.order[k]]) for k in range(axes)]
        expected = np.zeros(self.shape, np.int32)
        for at in np.ndindex(*reached):
            expected[at] = sum((k + 2) * at[k] for k in range(axes))
        extents = [np.int32(n) for n in self.shape] if self.flat else []
        inputs = lambda: [np.zeros(self.shape, np.int32), *extents]
        return Edge(
            text, tuple(self.blocks), tuple(self.threads), inputs,
            expected=None if self.mistake else [expected], legal=None if self.mistake else True,
            why=self.mistake or "each has its own", reported=bool(self.mistake),
        )  # fmt: skip

    def steps(self) -> Edge:
        """Steps of the whole grid along each axis: a thread begins at its index, and goes on by as many as there are threads."""
        axes = self.axes
        begin = [f"    c{k}: {self.wide} @ grid[1] = count(thread[1], {self.order[k]})" for k in range(axes)]
        begin += [f"    i{k}: {self.wide} @ thread[1] = id({self.order[k]})" for k in range(axes)]
        used, by = [self.index(k, f"i{k}") for k in range(axes)], [f"c{k}" for k in range(axes)]
        params, tail = [f"p{k}" for k in range(axes)], "," * (axes == 1)
        places = ", ".join(f"{u} + {p} * {c}" for u, p, c in zip(used, params, by, strict=True))
        body, indent = ["        with group(thread[1]):"], " " * 12
        for k in range(axes):
            body.append(f"{indent}for e{k} in range(cdiv(int32(y.shape[{k}]) - int32({used[k]}), int32({by[k]}))):")
            indent += "    "
        value = " + ".join(f"{k + 2} * ({used[k]} + e{k} * {by[k]})" for k in range(axes))
        body.append(f"{indent}mine[{', '.join(f'e{k}' for k in range(axes))}] = int32({value})")
        text = KERNEL.format(
            bound=self.bound, type=f"array(int32, {axes})", formals="", before="\n".join(begin), unit="thread[1]",
            places=f"lambda {', '.join(params)}: ({places}{tail})", name="mine", body="\n".join(body),
        )  # fmt: skip
        expected = np.zeros(self.shape, np.int32)
        for at in np.ndindex(*self.shape):
            expected[at] = sum((k + 2) * at[k] for k in range(axes))
        return Edge(
            text, tuple(self.blocks), tuple(self.threads), lambda: [np.zeros(self.shape, np.int32)],
            expected=None if self.mistake else [expected], legal=None if self.mistake else True,
            why=self.mistake or "each has its own", reported=bool(self.mistake),
        )  # fmt: skip

    def text(
        self, declared: list[str], parts: str, guards: list[str], access: list[str], value: str, extent: list[str]
    ) -> str:
        """The kernel's text."""
        line = " and ".join(guards)
        inner = [f"for e in range({self.each}):", f"    if {line}:", f"        mine[{', '.join(access)}] = {value}"]
        formals = "".join(f", n{k}: int32 @ grid[1]" for k in range(self.axes)) if self.flat else ""
        type_ = "ptr(int32)" if self.flat else f"array(int32, {self.axes})"
        if not self.tiled:
            body = ["        with group(thread[1]):", *(f"            {one}" for one in inner)]
            before = "\n".join(f"    {one}" for one in declared)
            return KERNEL.format(
                bound=self.bound, type=type_, formals=formals, before=before, unit="thread[1]", places=parts, name="mine",
                body="\n".join(body),
            )  # fmt: skip
        before = "\n".join(f"    b{k}: {self.wide} @ block[1] = id({self.order[k]})" for k in range(self.axes))
        size = [self.threads[self.order[k]] * (self.each if k == self.axes - 1 else 1) for k in range(self.axes)]
        params = [f"p{k}" for k in range(self.axes)]
        tile = ", ".join(f"b{k} * {size[k]} + {params[k]}" for k in range(self.axes)) + "," * (self.axes == 1)
        places = f"lambda {', '.join(params)}: ({tile})"
        if self.flat:
            places, parts = "lambda p: p", parts
        body = ["        with group(block[1]):", *(f"            {one}" for one in declared)]
        body += [f"            with partition(out, thread[1], {parts}) as mine, group(thread[1]):"]
        body += [f"                {one}" for one in inner]
        return KERNEL.format(
            bound=self.bound, type=type_, formals=formals, before=before, unit="block[1]", places=places, name="out",
            body="\n".join(body),
        )  # fmt: skip


def program(seed: int) -> Edge:
    """Return the program of a seed."""
    return Writer(seed).program()


def verify(seed: int) -> Outcome:
    """Return what becomes of it; what is right must be proved."""
    edge = program(seed)
    found = judged(edge, seed)
    if found.kind != "right" or edge.why != "each has its own":
        return found
    with loaded(HEAD + edge.text) as names:
        return Outcome(FAILED, f"not proved\n{edge.text}") if open_ends(prism.check(names["kernel"])) else found
