"""Which kernels rows are sorted by: those of `sort_rows` where a block holds a row, else a radix sort of each."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from prism.host.plan import WORDS, Buffer, Clear, Machine, Plan, Scratch, Step, instance_of, nothing, size_of
from prism.kernels import sort as kernels
from prism.kernels.sort import GIVEN, MANY_GROUPS, NONE, POSITIONS
from prism.kernels.sort_rows import ROOM
from prism.lib.algorithms.scan.plan import words_for
from prism.lib.algorithms.sort import cluster, fill, groups, ranges, resident, wide, windows
from prism.lib.algorithms.sort.elements import Elements
from prism.lib.algorithms.sort.fill import CONTROL
from prism.lib.algorithms.sort_rows import plan as by_rows
from prism.lib.algorithms.sort_rows.plan import Kind, Names

_FLOATS = {"float16": 0x7C00, "bfloat16": 0x7F80, "float32": 0x7F800000, "float64": 0x7FF0000000000000}
"""The bits of inf."""
CARRIED = (
    "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32", "float64",
)  # fmt: skip
"""What values may be: in memory, the first four, by their size; as they are where they are computed when they are read."""
_NARROW = 1 << 31  # counts of shorter arrays are of 32 bits
_ROOM = 227 << 10  # bytes that a block may have, of most GPUs
_MANY = 1 << 17
"""Several rows that no block holds are sorted by digits where they have so many elements in all, else by tiles and merges."""
_CLUSTERED = 1 << 15
"""One row of up to so many elements is sorted by a cluster: to meet takes all blocks longer."""
_COUNTED = 16
"""Up to so many rows of keys of 8 and 16 bits are counted and filled, one after the other; more are sorted by digits at once."""


@dataclass(frozen=True, slots=True)
class Keys:
    """How numbers of a type, of which the bits are read, are put in order: see `prism.kernels.sort.order`."""

    size: int
    kind: int
    flip: int
    lowest: int

    @property
    def type(self) -> str:
        """What keys are."""
        return f"uint{8 * self.size}"


def keys_of(kind: Kind) -> Keys:
    """Return how the numbers of a sort are put in order."""
    size = size_of(kind.read)
    sign, every = 1 << 8 * size - 1, (1 << 8 * size) - 1
    falling = every if kind.descending else 0
    if kind.bits is not None:
        return Keys(size, kernels.FIELD, falling, (1 << kind.bits[1]) - (1 << kind.bits[0]))
    if kind.scalar in _FLOATS:
        floats = {NONE: kernels.FLOAT, POSITIONS: kernels.FLOAT_PLACE, GIVEN: kernels.FLOAT_PAIR}
        return Keys(size, floats[carries(kind)], falling, every ^ (_FLOATS[kind.scalar] | sign))
    return Keys(size, kernels.INTEGER, falling ^ (sign if kind.scalar.startswith("int") else 0), 0)


def carries(kind: Kind) -> int:
    """Return what goes where a key goes."""
    found: int = GIVEN if kind.values else POSITIONS if kind.places else NONE
    return found


def takes(kind: Kind) -> bool:
    """Whether there is a radix sort of such rows."""
    if kind.bits is not None and kind.places:
        return False
    if kind.scalar.startswith("complex") or (kind.values and (kind.values not in CARRIED or kind.places)):
        return False
    return not kind.elements if kind.places else kind.elements


def elements_of(kind: Kind) -> Elements:
    """Return what a sort in one launch is of."""
    keys = keys_of(kind)
    return Elements(
        keys.type, kind.values or "uint32", kind.places or "int64", carries(kind), keys.kind, keys.flip, keys.lowest
    )


def by_clusters(kind: Kind, many: int, columns: int, machine: Machine) -> bool:
    """Whether `many` rows of `columns` elements are sorted by a cluster of blocks each."""
    if kind.bits is not None or not takes(kind):
        return False
    return cluster.sorts(elements_of(kind), many, columns, kind.most(machine), machine)


def by_ranges(kind: Kind, many: int, columns: int, machine: Machine) -> bool:
    """Whether one row of `columns` elements is sorted by ranges of keys."""
    return _is_one_row(kind, many, columns, kind.most(machine)) and ranges.sorts(elements_of(kind), columns, machine)


def by_residents(kind: Kind, many: int, columns: int, machine: Machine) -> bool:
    """Whether one row of `columns` elements is sorted by blocks that all run at once."""
    most = max(kind.most(machine), _CLUSTERED)
    return _is_one_row(kind, many, columns, most) and resident.sorts(elements_of(kind), columns, machine)


def _is_one_row(kind: Kind, many: int, columns: int, most: int) -> bool:
    """Whether there is one row, of more than `most` elements, that is not counted."""
    if kind.bits is not None or many > 1 or columns <= most or not takes(kind):
        return False
    return not fill.is_counted(size_of(kind.read), carries(kind), columns)


def by_digits(kind: Kind, many: int, columns: int, machine: Machine) -> bool:
    """Whether `many` rows of `columns` elements are sorted by digits, or counted."""
    long = columns > kind.most(machine) and (many == 1 or many * columns >= _MANY)
    return long and takes(kind)


def may_be_in_place(kind: Kind, many: int, columns: int, machine: Machine) -> bool:
    """Whether the results of `rows` may be the memory that is read: passes write two arrays in turn, and their number is even.

    Blocks that all run at once have read all before they write.
    """
    if by_residents(kind, many, columns, machine):
        return not kind.places
    if by_clusters(kind, many, columns, machine):
        return False  # one kernel reads and writes
    again = not kind.values and kind.scalar in ("float16", "bfloat16")  # which may be read again for their zeros
    return by_digits(kind, many, columns, machine) and not kind.places and size_of(kind.read) > 1 and not again


def rows(
    kind: Kind, many: int, columns: int, machine: Machine, *, aligned: bool = False, names: Names | None = None,
    in_place: bool = False,
) -> Plan:  # fmt: skip
    """Return the plan that sorts `many` rows of `columns` elements; arguments are those of `sort_rows.plan.rows`.

    `in_place`: results may be the very memory that is read, where that may be.
    """
    names = names or Names()
    if by_ranges(kind, many, columns, machine) and not in_place:
        return ranges.rows(elements_of(kind), columns, names)
    if by_residents(kind, many, columns, machine):
        return resident.rows(elements_of(kind), columns, machine, names)
    if by_clusters(kind, many, columns, machine):
        return cluster.rows(elements_of(kind), many, columns, names)
    if not by_digits(kind, many, columns, machine):
        return by_rows.rows(kind, many, columns, machine, aligned=aligned, names=names)
    return radix(kind, many, columns, machine, names, aligned=aligned, in_place=in_place)


def radix(
    kind: Kind, many: int, n: int, machine: Machine, names: Names, *, aligned: bool, in_place: bool = False
) -> Plan:
    """Return the plan that sorts rows of `n` elements by digits, all rows in each pass.

    Scratch: as many keys, and as many values where some go along; of positions two of each, of 4 bytes below 2^32 elements; of
    some bits alone two bytes more an element; for windows 512 KB more; for groups up to an eighth more. Of floats that are sorted
    with values by wide digits twice as much: 16 bytes an element.
    `in_place`: an even number of passes moves elements, so that results may be what is read.
    """
    scratch = Scratch()
    if kind.bits is not None and not kind.values:  # what is equal may differ: what goes along tells its order
        kind = replace(kind, values="uint8")
        names = replace(names, values=names.x, moved=scratch.take("uint8", many * n))
    keys, carried = keys_of(kind), carries(kind)
    if fill.is_counted(keys.size, carried, n) and many <= _COUNTED:
        return by_counting(keys, many, n, machine, names, aligned=aligned)
    value = {NONE: "uint32", POSITIONS: "uint32" if n < 1 << 32 else "uint64", GIVEN: kind.values}[carried]
    counts = "uint32" if many * n < _NARROW else "uint64"
    c = _cut(keys, value, carried, n, many, machine)
    template = {
        "K": keys.type, "V": value, "VO": kind.places or "int64", "C": counts, "KIND": keys.kind, "VALUES": carried,
        "THREADS": c.threads, "ITEMS": c.items, "BATCH": c.batch, "BLOCKS": c.blocks, "WORDS": c.words, "ROWS": many > 1,
        "AHEAD": c.ahead,
    }  # fmt: skip
    pass_of = instance_of(kernels.sort_digit, template)
    tiles = many * -(-n // c.tile)
    by_wide = wide.sorts(keys.size, value, keys.kind, carried, n, many, in_place, machine)
    capacity = words_for(max(256 * tiles, wide.words_of(n, carried) if by_wide else 0))
    size = 2 * size_of(counts)
    by_windows = windows.sorts(keys.size, value, keys.kind, carried, n, many, in_place, machine)
    by_groups = groups.sorts(keys.size, keys.kind, carried, n, many, in_place, machine) and not by_windows
    zeros = wide.zeros if by_wide else windows.zeros if by_windows else groups.zeros if by_groups else _zeros
    cleared, number, moved, *parts = zeros(counts, many * 256 * keys.size, scratch)
    pairs = wide.take_pairs(n, scratch) if by_wide and carried != NONE else ()
    room = scratch.take(keys.type, MANY_GROUPS * groups.room_of(n)) if by_groups else None
    shared: dict[str, Any] = {
        "counts": number, "n": n, "flip": keys.flip, "lowest": keys.lowest,
    }  # fmt: skip
    found = {
        "x": names.x, **_arrays(keys.type, value, carried, many * n, names, pairs, room, scratch),
        "words": Buffer(WORDS, CONTROL, "uint64", capacity * size // 8), "capacity": capacity,
        "control": Buffer(WORDS, 0, "uint64", 1), "rows": many, "moved": moved, "window": 0, **shared,
    }  # fmt: skip
    steps: list[Step | Clear] = [Clear(cleared)]
    count = _count(keys, counts, n, names.x, machine, shared, rows=many, aligned=aligned)
    blocks = 1 if machine.host else min(tiles, machine.wave(pass_of, c.threads))
    passes = [Step(pass_of, blocks, c.threads, {**found, "step": step}) for step in range(keys.size)]
    if by_wide:
        steps += wide.steps(template, found, pairs, count, passes, parts, machine)
    elif room is not None:
        steps += groups.steps(found, room, count, passes, parts[0], machine)
    elif by_windows:
        largest, samples = parts
        steps += [count, *windows.steps(template, found, passes, largest, samples, machine, scratch)]
    else:
        steps += [count, *_even(counts, keys.size, number, moved, n, many, in_place), *passes]
    return Plan(tuple(steps), CONTROL + capacity * size, f"sort {capacity} {counts}", scratch.used)


def _arrays(
    key: str,
    value: str,
    carried: int,
    n: int,
    names: Names,
    pairs: tuple[Buffer, ...],
    room: Buffer | None,
    scratch: Scratch,
) -> dict[str, Any]:
    """Return the arrays of `n` keys and values that passes by bytes write in turn, in the room of `pairs` if there are some.

    Keys lie in `room`, if there is one, which has more than they need.
    """
    rooms = wide.rooms_of(pairs, n)

    def take(dtype: str) -> Buffer:
        return next(rooms) if pairs else scratch.take(dtype, n)

    found = {
        "spare": take(key) if room is None else room,
        "y": names.y,
        "given": nothing(value),
        "positions": nothing("int64"),
    }
    found |= {"value_spare": nothing(value) if carried == NONE else take(value), "values": nothing(value)}
    if carried == GIVEN:
        found |= {"given": names.values, "values": names.moved}
    elif carried == POSITIONS:
        found |= {"y": take(key), "values": take(value), "positions": names.places}
    return found


def _zeros(counts: str, number: int, scratch: Scratch) -> tuple[Buffer, ...]:
    """Return memory that is cleared at once, counts of digits, which are all of it, and a mark."""
    whole = scratch.take(counts, number)
    return whole, whole, scratch.take("uint32", 1)


def _even(
    counts: str, passes: int, number: Buffer, moved: Buffer, n: int, many: int, in_place: bool
) -> list[Step | Clear]:
    """Return the steps between counting and passes: of several rows, and where an even number of passes must move all."""
    if many > 1:
        begin = instance_of(kernels.begin_rows, {"C": counts, "PASSES": passes})
        arguments = {"counts": number, "moved": moved, "n": n, "even": int(in_place)}
        return [Clear(moved), Step(begin, many, 256, arguments)]
    if not in_place:
        return []
    evenly = instance_of(kernels.pass_evenly, {"C": counts, "PASSES": passes})
    return [Step(evenly, 1, 256, {"counts": number, "n": n})]


def by_counting(keys: Keys, many: int, n: int, machine: Machine, names: Names, *, aligned: bool) -> Plan:
    """Return the plan that sorts rows of `n` keys of 8 or 16 bits by counting them.

    Scratch: two numbers for each key; of 16 bits 128 KB for each block that counts, besides. Rows have it in turn.
    """
    scratch, counts = Scratch(), "uint32" if n < _NARROW else "uint64"
    number = scratch.take(counts, 1 << 8 * keys.size)
    shared = {"n": n, "flip": keys.flip, "lowest": keys.lowest}
    steps: list[Step | Clear] = []
    begin = scratch.used
    for row in range(many):
        scratch.used = begin
        x, y = (_at(one, row * n * keys.size) for one in (names.x, names.y))
        count = _count(keys, counts, n, x, machine, {"counts": number, **shared}, aligned=aligned)
        steps += fill.steps(keys.type, shared, number, count, x, y, machine, scratch, kind=keys.kind, aligned=aligned)
    if keys.kind != kernels.FLOAT:
        return Plan(tuple(steps), scratch=scratch.used)
    capacity = fill.words_of(n)
    return Plan(tuple(steps), CONTROL + capacity * 2 * size_of(counts), f"zeros {capacity} {counts}", scratch.used)


def _cut(keys: Keys, value: str, carried: int, n: int, many: int, machine: Machine) -> kernels.Configuration:
    """Return how `many` rows of `n` elements are cut into tiles."""
    if machine.host:
        return kernels.HOST_SMALL if n <= 8 * kernels.HOST_SMALL.tile else kernels.HOST_LARGE
    room = ROOM.get(machine.arch, _ROOM)
    found = kernels.configuration_of(keys.size, size_of(value), carried, room, n, many, machine.multiprocessors)
    if found.ahead:
        return found
    if keys.kind == kernels.FLOAT:
        items = min(found.items, 72)  # few registers are left
        return found._replace(items=items, batch=6 if items % 6 == 0 else found.batch, words=4)
    return found._replace(words=4) if keys.kind == kernels.FLOAT_PAIR else found


def _count(
    keys: Keys, counts: str, n: int, x: Buffer, machine: Machine, shared: dict[str, Any], *, rows: int = 1,
    aligned: bool,
) -> Step:  # fmt: skip
    """Return the step that counts all digits, of each row for itself."""
    c = kernels.HOST_COUNTING if machine.host else kernels.counting(keys.size, ROOM.get(machine.arch, _ROOM))
    items = max(1, c.bytes // keys.size)
    width = math.gcd(items, max(1, 16 // keys.size))
    template = {
        "K": keys.type, "C": counts, "KIND": keys.kind, "COPIES": c.copies, "THREADS": c.threads, "ITEMS": items, "WIDTH": width,
        "BLOCKS": 1, "ASKED": False,
    }  # fmt: skip
    instance = instance_of(kernels.count_digits, template)
    tiles = -(-n // (c.threads * items))
    blocks = 1 if machine.host else min(tiles, max(1, machine.wave(instance, c.threads) // rows))
    skew = 0 if aligned and x.offset % 16 == 0 and (rows == 1 or n * keys.size % 16 == 0) else -1
    return Step(
        instance, blocks * rows, c.threads, {"x": x, "skew": skew, "rows": rows, "asked": nothing("uint32"), **shared}
    )


def _at(buffer: Buffer, offset: int) -> Buffer:
    return buffer if offset == 0 else Buffer(buffer.name, buffer.offset + offset, buffer.dtype, buffer.count)


__all__ = [
    "CARRIED",
    "Keys",
    "by_clusters",
    "by_counting",
    "by_digits",
    "by_ranges",
    "by_residents",
    "elements_of",
    "keys_of",
    "may_be_in_place",
    "radix",
    "rows",
    "takes",
]
