"""When floats are sorted by three digits of 10 bits, as few exponents occur, rather than by four of 8."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from prism.host.plan import ALIGNED, Buffer, Machine, Scratch, Step, instance_of
from prism.kernels import sort as kernels
from prism.kernels.sort.wide import COUNTS, DIGITS, PASSES, STATE
from prism.kernels.sort_rows import ROOM
from prism.runtime.instance import Instance

_FEWEST = 1 << 24
"""2^24 take 292 us, 306 by four digits; with values 478 and 546; their positions 423 and 496."""
_KINDS = {kernels.NONE: kernels.FLOAT, kernels.GIVEN: kernels.FLOAT_PAIR, kernels.POSITIONS: kernels.FLOAT_PLACE}
_NARROW = 1 << 31
_HALF = ALIGNED // 4
"""Words more, so that arrays of both halves' type begin where arrays do."""
_COUNTING = kernels.Counting(threads=1024, bytes=32, copies=16)


def sorts(key: int, value: str, kind: int, carried: int, n: int, many: int, in_place: bool, machine: Machine) -> bool:
    """Whether `n` keys of `key` bytes, alone or with values of 4, are sorted so, where few exponents occur."""
    if machine.host or many > 1 or kind != _KINDS[carried] or key != 4 or in_place or machine.arch in ROOM:
        return False
    return _FEWEST <= n < _NARROW and (carried == kernels.NONE or value == "uint32")


def words_of(n: int, carried: int) -> int:
    """Return how many words passes publish."""
    words: int = DIGITS * -(-n // kernels.wide_of(n, carried).tile)
    return words


def _pass(given: dict[str, Any], n: int, machine: Machine) -> tuple[Instance, int, int]:
    """Return the kernel of a pass over `n` elements, and how many blocks and threads it is launched with."""
    c = kernels.wide_of(n, given["VALUES"])
    template = {
        **{name: given[name] for name in ("K", "V", "VO", "C", "VALUES")}, "THREADS": c.threads, "ITEMS": c.items,
        "W": given["K"] if given["VALUES"] == kernels.NONE else "uint64", "BATCH": c.batch, "BLOCKS": c.blocks,
        "WORDS": c.words, "APART": c.apart,
    }  # fmt: skip
    sort = instance_of(kernels.sort_wide, template)
    return sort, min(-(-n // c.tile), machine.wave(sort, c.threads)), c.threads


def zeros(counts: str, number: int, scratch: Scratch) -> tuple[Buffer, ...]:
    """Return memory that is cleared at once, and its parts: counts of bytes, marks, counts of wide digits, starts, the state."""
    sizes = (number, 2, COUNTS, PASSES * DIGITS, STATE)
    begins = [sum(-(-size // 64) * 64 for size in sizes[:k]) for k in range(len(sizes) + 1)]
    whole = scratch.take("uint32", begins[-1])
    parts = (Buffer(whole.name, whole.offset + 4 * at, counts, size) for at, size in zip(begins, sizes, strict=False))
    return whole, *parts


def take_pairs(n: int, scratch: Scratch) -> tuple[Buffer, Buffer]:
    """Take room for two arrays of `n` words, each a key and what goes along."""
    return scratch.take("uint64", n + _HALF), scratch.take("uint64", n + _HALF)


def rooms_of(pairs: tuple[Buffer, ...], n: int) -> Iterator[Buffer]:
    """Yield the same room as arrays of `n` words of 4 bytes, two for each: for passes by bytes, where no wide ones are."""
    for pair in pairs:
        for half in range(2):
            yield Buffer(pair.name, pair.offset + half * -(-4 * n // ALIGNED) * ALIGNED, "uint32", n)


def steps(
    given: dict[str, Any], found: dict[str, Any], pairs: tuple[Buffer, ...], count: Step, passes: list[Step],
    parts: list[Buffer], machine: Machine,
) -> list[Step]:  # fmt: skip
    """Return the steps that sort.

    `given`, `found`: template and arguments of `passes`, by bytes; `pairs`: of `take_pairs`, none of keys alone; `parts`: of
    `zeros`.
    """
    wide_counts, starts, state = parts
    marks = found["moved"]
    n, flip = found["n"], found["flip"]
    other = Buffer(marks.name, marks.offset + 4, "uint32", 1)
    items = _COUNTING.bytes // 4
    counter = instance_of(
        kernels.count_wide,
        {
            "K": "uint32",
            "C": "uint32",
            "COPIES": _COUNTING.copies,
            "THREADS": _COUNTING.threads,
            "ITEMS": items,
            "WIDTH": 4,
        },
    )
    begin = instance_of(kernels.begin_wide, {"K": "uint32", "C": "uint32"})
    sort, blocks, threads = _pass(given, n, machine)
    own = ("x", "y", "given", "values", "positions", "n", "flip", "words", "capacity", "control")
    spare, between = pairs or (found["spare"], found["y"])
    shared = {name: found[name] for name in own} | {"spare": spare, "between": between}
    again = instance_of(kernels.count_digits, {**dict(count.instance.template), "ASKED": True})
    tiles = -(-n // (_COUNTING.threads * items))
    return [
        Step(
            counter, min(tiles, machine.wave(counter, _COUNTING.threads)), _COUNTING.threads,
            {"x": found["x"], "counts": wide_counts, "n": n, "skew": count.arguments["skew"], "flip": flip},
        ),
        Step(begin, 1, 1024, {"counts": wide_counts, "starts": starts, "state": state, "other": other, "n": n, "flip": flip}),
        *(
            Step(sort, blocks, threads, {**shared, "starts": starts, "state": state, "step": step})
            for step in range(PASSES)
        ),
        replace(count, instance=again, arguments={**count.arguments, "asked": other}),
        *(replace(one, arguments={**one.arguments, "window": -1}) for one in passes),
    ]  # fmt: skip


__all__ = ["rooms_of", "sorts", "steps", "take_pairs", "words_of", "zeros"]
