"""Programs over arrays of one to three axes, of any strides: transposed, reversed, every second element, windows.

Each thread has the indices of one element of the result, or of a few along the last axis, from its number and the shapes; it
reads others by the same indices in another order. Parts are made by one partition or by two, and a device function may read. A
mistake drops what keeps an index inside its axis, or lets two threads have one element. The oracle is NumPy.
"""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np

from tests.generated.edges_verify import FAILED, Edge, Outcome, judged

KERNEL = """\
@prism("device")
@requires(thread[1])
def read(x: array(const({T}), {axes}) @ grid[1], {formals}) -> {T} @ thread[1]:
    return x[{given}]

@prism("global")
@requires(grid[1], block[1], thread[32])
def kernel(y: array({T}, {axes}) @ grid[1], x: array(const({T}), {axes}) @ grid[1], z: array(const({T}), 1) @ grid[1]):
    t: int64 @ thread[1] = {scale}id()
{declared}
    with partition(y, thread[1], lambda {params}: ({places})) as mine, group(thread[1]){again}:
        for e in range({each}):
            if {guard}:
                {name}[{zeros}] = {value}
"""


def view(rng: random.Random, shape: tuple[int, ...], dtype: str, *, constant: bool) -> Any:
    """An array of a shape, of strides that nobody would guess."""
    order = list(range(len(shape)))
    rng.shuffle(order)
    steps = [rng.choice((1, 1, -1, 2, -3)) for _ in shape]
    lengths = [abs(steps[k]) * shape[k] + rng.randrange(2) for k in order]
    memory = np.arange(math.prod(lengths), dtype=dtype).reshape(lengths)
    back = tuple(order.index(k) for k in range(len(shape)))
    found = memory.transpose(back)[tuple(slice(None, None, step) for step in steps)]
    found = found[tuple(slice(0, extent) for extent in shape)]
    if constant and len(shape) > 1 and rng.random() < 0.2:
        return np.broadcast_to(found[:1], shape)  # strides of 0
    return found


class Writer:
    """One program, by its seed."""

    def __init__(self, seed: int, mistake: str = "") -> None:
        self.rng = rng = random.Random(seed)
        self.axes = rng.choice((1, 2, 2, 2, 3))
        self.shape = tuple(rng.choice((1, 2, 3, 5, 8)) for _ in range(self.axes))
        self.each = rng.choice((1, 1, 2, 3))
        self.dtype = rng.choice(("int32", "float32", "int64", "uint8"))
        self.mistake = mistake or ("same" if rng.random() < 0.1 else "")
        self.order = rng.sample(range(self.axes), self.axes)  # axis k of x is axis order[k] of y

    def program(self) -> Edge:
        """The program, and what it makes."""
        rng, axes, last = self.rng, self.axes, self.axes - 1
        inner = [f"int64({'xy'[self.of_x(k)]}.shape[{self.axis(k)}])" for k in range(axes)]
        declared, rest = [], "t"
        for k in reversed(range(1, axes)):
            declared += [f"n{k}: int64 @ grid[1] = {inner[k]}"]
            length = f"cdiv(n{k}, {self.each})" if k == last and self.each > 1 else f"n{k}"
            declared += [f"i{k}: int64 @ thread[1] = {rest} % {length}"]
            rest = f"{rest} // {length}" if rest == "t" else f"{rest} // {length}"
        declared += [f"n0: int64 @ grid[1] = {inner[0]}", f"i0: int64 @ thread[1] = {rest}"]
        if self.each > 1:
            declared.append(f"first: int64 @ thread[1] = {self.each} * i{last}")
        begin = [f"i{k}" if k < last or self.each == 1 else "first" for k in range(axes)]
        params = [f"p{k}" for k in range(axes)]
        where = [f"{b} + {p}" for b, p in zip(begin, params, strict=True)]
        if self.mistake == "same":
            where[0] = f"{begin[0]} // 2 + p0"
        again = rng.random() < 0.3
        indices = [begin[k] + (" + e" if k == last else "") for k in range(axes)]
        guard = [f"{indices[k]} < n{k}" for k in range(axes)]
        if self.mistake == "guard":
            guard[0] = "True"
        given = [indices[k] for k in self.order]
        if self.mistake == "axis":
            given[0] = f"{given[0]} + n{self.order[0]}"
        called = rng.random() < 0.4
        value = f"read(x, {', '.join(given)})" if called else f"x[{', '.join(given)}]"
        text = KERNEL.format(
            T=self.dtype, axes=axes, scale="", each=self.each, declared="\n".join(f"    {one}" for one in declared),
            params=", ".join(params), places=", ".join(where) + "," * (axes == 1), guard=" and ".join(guard),
            again=f", partition(mine, thread[1], lambda {', '.join(params)}: ({', '.join(params)}{',' * (axes == 1)})) as own"
            if again else "",
            name="own" if again else "mine", zeros=", ".join(["0"] * last + ["e"]),
            value=f"{value} + z[{indices[last]}]", formals=", ".join(f"a{k}: int64 @ thread[1]" for k in range(axes)),
            given=", ".join(f"a{k}" for k in range(axes)),
        )  # fmt: skip
        shape_x = tuple(self.shape[k] for k in self.order)
        x = view(rng, shape_x, self.dtype, constant=True)
        z = view(rng, (self.shape[last],), self.dtype, constant=True)
        template = view(rng, self.shape, self.dtype, constant=False)
        back = tuple(self.order.index(k) for k in range(axes))
        expected = (x.transpose(back) + z).astype(self.dtype)
        threads = math.prod(self.shape[:-1]) * -(-self.shape[-1] // self.each)
        blocks = -(-threads // 32) + (rng.randrange(2) or self.mistake == "guard")
        legal = self.mistake != "same" or self.shape[0] == 1

        def inputs() -> list[Any]:
            base = np.zeros(template.shape, self.dtype)
            strides = template.strides
            whole = np.lib.stride_tricks.as_strided(memory_for(template), template.shape, strides)
            whole[...] = base
            return [whole, x, z]

        why, reported = self.mistake or "in bounds", self.mistake == "same"
        return Edge(text, blocks, 32, inputs, expected=[expected], legal=legal or None, why=why, reported=reported)

    def of_x(self, k: int) -> int:
        """Whose shape says how long an axis is: 0 for x's, 1 for y's."""
        return 0 if k % 2 else 1

    def axis(self, k: int) -> int:
        """Which axis of that array it is."""
        return self.order.index(k) if self.of_x(k) == 0 else k


def memory_for(like: Any) -> Any:
    """The first element of memory that has room for an array of the same shape and strides."""
    size = like.itemsize
    reaches = [(n - 1) * stride for n, stride in zip(like.shape, like.strides, strict=True)]
    low, high = -sum(r for r in reaches if r < 0), sum(r for r in reaches if r > 0)
    memory = np.zeros((low + high) // size + 1, like.dtype)
    return memory[low // size :]


def program(seed: int) -> Edge:
    """Return the program of a seed."""
    return Writer(seed).program()


def verify(seed: int) -> Outcome:
    """Return what becomes of it; and whether an index beyond its axis is found, in the same program with a mistake."""
    found = judged(program(seed), seed)
    if found.kind != "right" or seed % 3:
        return found
    mistake = ("guard", "axis")[seed // 3 % 2]
    wrong = judged(Writer(seed, mistake).program(), seed)
    if "machine-bounds" in wrong.found:
        return Outcome("right")
    return Outcome(FAILED, f"an index beyond its axis is not found ({mistake}): {wrong.kind} {wrong.found}")
