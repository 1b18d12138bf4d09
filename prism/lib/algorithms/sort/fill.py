"""How keys of 8 or 16 bits are sorted that nothing goes along with: counted, and written as often as they occur."""

from __future__ import annotations

from typing import Any

from prism.host.plan import WORDS, Buffer, Clear, Machine, Scratch, Step, instance_of, size_of
from prism.kernels import sort as kernels
from prism.lib.algorithms.scan.plan import words_for

FEWEST = {1: 1, 2: 1 << 23}
"""Of keys of so many bytes, how many there are at least. Shorter arrays are sorted by digits: 65536 counts take their time."""
CONTROL = 64  # bytes before the words: the counter and the epoch, in a sector of their own


def is_counted(size: int, carried: int, n: int) -> bool:
    """Whether `n` keys of so many bytes are counted, beside what goes along with them."""
    return bool(carried == kernels.NONE) and n >= FEWEST.get(size, n + 1)


def words_of(n: int) -> int:
    """Return how many words the order of zeros takes."""
    c = kernels.ZEROS
    return int(words_for(-(-n // (c.threads * c.items))))


def steps(
    key: str, shared: dict[str, Any], counts: Buffer, count: Step, x: Buffer, y: Buffer, machine: Machine, scratch: Scratch,
    *, kind: int, aligned: bool,
) -> list[Step | Clear]:  # fmt: skip
    """Return the steps that sort `x` into `y`. `count`: the one that counts bytes; `shared`: `n`, `flip` and `lowest`."""
    n, keys, size = shared["n"], 1 << 8 * size_of(key), counts.dtype
    skew = 0 if aligned and x.offset % 16 == 0 else -1
    found: list[Step | Clear] = [Clear(counts)]
    found += [count] if keys == 256 else _count(size, n, counts, x, skew, machine, scratch)
    starts = scratch.take(size, keys)
    threads = min(keys, 1024)
    narrow = keys == 256  # which are counted by keys; those of 16 bits by what they are
    begin = instance_of(
        kernels.begin_keys, {"K": key, "C": size, "KIND": kernels.INTEGER if narrow else kind, "THREADS": threads}
    )
    order = {name: 0 if narrow else shared[name] for name in ("flip", "lowest")}
    found.append(Step(begin, keys // threads, threads, {"counts": counts, "starts": starts, **order}))
    c = kernels.FILLING_MANY if size_of(key) == 2 and n >= 1 << 28 else kernels.FILLING
    width = 16 // size_of(key)
    template = {"K": key, "C": size, "KIND": kind, "THREADS": c.threads, "ITEMS": width * c.items, "WIDTH": width}
    fill = instance_of(kernels.fill_keys, template)
    tiles = -(-n // (c.threads * width * c.items))
    blocks = 1 if machine.host else min(tiles, machine.wave(fill, c.threads))
    found.append(
        Step(fill, blocks, c.threads, {"starts": starts, "y": y, "aligned": skew == 0 and y.offset % 16 == 0, **shared})
    )
    if kind == kernels.FLOAT:
        c = kernels.ZEROS
        template = {"K": key, "C": size, "THREADS": c.threads, "ITEMS": c.items, "WIDTH": width}
        zeros = instance_of(kernels.order_zeros, template)
        tiles = -(-n // (c.threads * c.items))
        capacity = words_of(n)
        arguments = {
            "x": x, "starts": starts, "y": y, "n": n, "skew": skew, "lowest": shared["lowest"],
            "words": Buffer(WORDS, CONTROL, "uint64", capacity * 2 * size_of(size) // 8), "capacity": capacity,
            "control": Buffer(WORDS, 0, "uint64", 1),
        }  # fmt: skip
        blocks = 1 if machine.host else min(tiles, machine.wave(zeros, c.threads))
        found.append(Step(zeros, blocks, c.threads, arguments))
    return found


def _count(
    size: str, n: int, counts: Buffer, x: Buffer, skew: int, machine: Machine, scratch: Scratch
) -> list[Step]:  # fmt: skip
    """Return the steps that count numbers of 16 bits, by their bits."""
    c = kernels.COUNTING_KEYS
    count = instance_of(kernels.count_keys, {"C": size, "THREADS": c.threads, "ITEMS": c.items, "WIDTH": 8})
    tiles = -(-n // (c.threads * c.items))
    blocks = 1 if machine.host else min(tiles, machine.wave(count, c.threads))
    parts = scratch.take("uint32", blocks << 15)
    add = instance_of(kernels.add_keys, {"C": size, "THREADS": 512, "SHARES": 4})
    return [
        Step(count, blocks, c.threads, {"x": x, "counts": counts, "parts": parts, "n": n, "skew": skew}),
        Step(add, (1 << 15) // 128, 512, {"parts": parts, "counts": counts, "many": blocks}),
    ]


__all__ = ["CONTROL", "FEWEST", "is_counted", "steps", "words_of"]
