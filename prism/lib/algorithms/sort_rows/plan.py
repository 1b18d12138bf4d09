"""Which kernels rows and segments are sorted by, and what they are launched with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from prism.host.plan import OUT, Buffer, Clear, Machine, Plan, Scratch, Step, instance_of, nothing, size_of
from prism.kernels import sort_rows as kernels
from prism.kernels.sort_rows import ALONE, BACK, GATHERED, NONE, PLACED, ROWS, SEGMENTS, Block, Lanes
from prism.runtime.arrays import ArrayInfo
from prism.runtime.instance import Instance

SUPPORTED = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32", "float64",
    "complex64", "complex128",
)  # fmt: skip
"""Dtypes that have an order and a key."""
_FLOATS = ("float16", "bfloat16", "float32", "float64")
_WIDE, _HUGE = "struct{key:uint64,place:uint32}", "struct{high:uint64,low:uint64,place:uint32}"
_PLACED = {1: "uint32", 2: "uint32", 4: "uint64", 8: _WIDE, 16: _HUGE}
"""What is sorted of elements of so many bytes, with their positions."""
_VECTOR = 16  # bytes
_MOST_BLOCKS = 1 << 30
_HOST_BLOCKS = 2
_SHORT = 32  # elements of segments that are sorted with those that are not much longer
_WAVES = 4  # of blocks that share segments out: as those of `segmented_reduce`
_LISTED = (1 << 31) - 1  # rows that a list has room for
LONGEST = (1 << 31) - (1 << 13)
"""How long a row, or a segment, is at most."""

VALUES, PLACES, MOVED = "values", "places", "moved"
"""What the arrays of a plan are called, besides `x` and the result: `OUT` is the sorted elements, where they are wanted."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What is sorted, and what comes of it.

    `elements`: whether the sorted ones are wanted; `places`: the type that positions in a row are written as, or "";
    `values`: the type that values beside the elements are moved as, or "".
    `bits`: of unsigned integers those that decide, from one to before another, where these are not all.
    """

    scalar: str
    descending: bool = False
    elements: bool = True
    places: str = ""
    values: str = ""
    bits: tuple[int, int] | None = None

    @property
    def read(self) -> str:
        """The type that the kernels read elements as."""
        return "uint8" if self.scalar == "bool" else self.scalar

    @property
    def form(self) -> int:
        """Whether elements are sorted alone, or with their positions."""
        along = bool(self.places or self.values) or self.scalar.startswith("complex")
        found: int = PLACED if along else ALONE
        return found

    @property
    def mixed(self) -> bool:
        """Whether there may be zeros of both signs, which are equal: the kernels keep them in their order."""
        return self.form == ALONE and self.scalar in _FLOATS

    @property
    def sorted_as(self) -> str:
        """The type of what is sorted: a key, or a key and a position."""
        size = size_of(self.read)
        if self.form == ALONE:
            return "uint64" if size == 8 else "uint32"
        return _PLACED[size]

    @property
    def long(self) -> tuple[int, str, int]:
        """The form of what is sorted of rows that no block holds, its type, and where elements come from in the end.

        Positions are of 32 bits; and where zeros of both signs may stand together, they are sorted along at once.
        """
        if self.form == ALONE and not self.mixed:
            return ALONE, self.sorted_as, BACK
        return PLACED, _PLACED[max(size_of(self.read), 4)], GATHERED if self.elements else NONE

    def most(self, machine: Machine) -> int:
        """Return how long rows are at most that a block of a machine holds."""
        most: int = kernels.most_of(size_of(self.sorted_as), machine.arch)
        return most

    def template(self, way: Lanes | Block, *, mode: int, offsets: str, listed: bool, host: bool) -> dict[str, Any]:
        """Return the template of a kernel, but for the width of vectors."""
        keys = NONE if not self.elements else BACK if self.form == ALONE else GATHERED
        found: dict[str, Any] = {
            "T": self.read, "U": "uint64" if size_of(self.read) >= 8 else "uint32", "E": self.sorted_as,
            "V": self.values or "uint8", "I": self.places or "int32", "O": offsets, "ITEMS": way.items,
            "DESCENDING": self.descending, "FORM": self.form, "KEYS": keys, "PLACES": bool(self.places),
            "VALUES": bool(self.values), "MODE": mode, "LISTED": listed, "MIXED": self.mixed,
        }  # fmt: skip
        if isinstance(way, Block):
            return {**found, "THREADS": way.threads, "BLOCKS": 1 if host else way.blocks}
        return {**found, "SIZE": way.size, "THREADS": kernels.HOST_THREADS if host else kernels.THREADS, "WIDTH": 1}


@dataclass(frozen=True, slots=True)
class Names:
    """Which memory a plan's kernels take: names of arrays, or scratch."""

    x: Buffer = Buffer("x")
    y: Buffer = Buffer(OUT)
    places: Buffer = Buffer(PLACES)
    values: Buffer = Buffer(VALUES)
    moved: Buffer = Buffer(MOVED)


def width_of(kind: Kind, way: Lanes, columns: int, aligned: bool) -> int:
    """Return how many elements a lane reads at once: as many as it takes anyway, or 16 bytes of them; 1 where that is not so.

    `columns`: what all rows are a multiple of; 0 of segments, of which the kernel looks at each.
    """
    width = min(way.items, max(1, _VECTOR // size_of(kind.read)))
    return width if aligned and columns % width == 0 else 1


def instance_for(
    kind: Kind, way: Lanes | Block, columns: int, aligned: bool, *, mode: int = ROWS, offsets: str = "int64",
    listed: bool = False, host: bool = False,
) -> Instance:  # fmt: skip
    """Return the kernel that sorts so."""
    template = kind.template(way, mode=mode, offsets=offsets, listed=listed, host=host)
    if isinstance(way, Block):
        return instance_of(kernels.sort_rows_by_block, template)
    template["WIDTH"] = width_of(kind, way, 0 if mode == SEGMENTS else columns, aligned)
    return instance_of(kernels.sort_rows_by_lanes, template)


def is_aligned(*arrays: ArrayInfo | None) -> bool:
    """Whether arrays, which may not be made as yet, begin where vectors may."""
    return all(info is None or info.pointer % _VECTOR == 0 for info in arrays)


def rows(
    kind: Kind, many: int, columns: int, machine: Machine, *, aligned: bool = False, names: Names | None = None
) -> Plan:
    """Return the plan that sorts `many` rows of `columns` elements, C-contiguous.

    The plan's arrays are `x`, and, of `kind`, those of `names`; none that is written may be memory of one that is read.
    `aligned`: all begin where vectors of 16 bytes may.
    """
    if columns > kind.most(machine):
        return long_rows(kind, many, columns, machine, names=names)
    arguments = _arguments(kind, names or Names(), many, columns, many * columns)
    return Plan((_step(kind, many, columns, machine, arguments, aligned),))


def long_rows(kind: Kind, many: int, columns: int, machine: Machine, *, names: Names | None = None) -> Plan:
    """Return the plan that sorts `many` rows that a block does not hold, of up to `LONGEST` elements, by tiles and merges.

    Scratch: what is sorted, and once more where more than four tiles are merged: of integers alone as many bytes, else 8 bytes
    an element, 16 of elements of 8 bytes, 24 of those of 16.
    """
    scratch = Scratch()
    arguments = _arguments(kind, names or Names(), many, columns, many * columns)
    control = scratch.take("uint64", 2)
    step = long_step(kind, many, columns, machine, arguments | {"control": control}, scratch)
    return Plan((Clear(control), step), scratch=scratch.used)


def long_step(
    kind: Kind, many: int, columns: int, machine: Machine, arguments: Mapping[str, Any], scratch: Scratch, *,
    mode: int = ROWS, offsets: str = "int64",
) -> Step:  # fmt: skip
    """Return the launch that sorts `many` rows of `columns` elements, or of segments of `columns` together those of a list."""
    form, element, keys = kind.long
    way = kernels.HOST_LONG if machine.host else kernels.long_way(size_of(element), machine.arch)
    tile, n = way.span - way.items, arguments["n"]
    tiles = many * -(-columns // tile) if mode == ROWS else 2 * n // tile + 1
    template = {
        "T": kind.read, "U": "uint64" if size_of(kind.read) >= 8 else "uint32", "E": element, "V": kind.values or "uint8",
        "I": kind.places or "int32", "O": offsets, "ITEMS": way.items, "THREADS": way.threads,
        "BLOCKS": 1 if machine.host else way.blocks, "DESCENDING": kind.descending, "FORM": form, "KEYS": keys,
        "PLACES": bool(kind.places), "VALUES": bool(kind.values), "MODE": mode,
    }  # fmt: skip
    found = instance_of(kernels.sort_long_rows, template)
    given = {name: value for name, value in arguments.items() if name not in ("least", "most", "cleared")}
    listed = mode == SEGMENTS
    given |= {
        "held": scratch.take(element, n if columns <= 4 * tile else 2 * n), "cuts": scratch.take("int64", 3 * tiles),
        "owners": scratch.take("int32", tiles) if listed else nothing("int32"),
        "firsts": scratch.take("int32", tiles) if listed else nothing("int32"),
        "found": scratch.take("int64", 2) if listed else nothing("int64"), "capacity": tiles,
    }  # fmt: skip
    blocks = _HOST_BLOCKS if machine.host else machine.wave(found, way.threads)
    return Step(found, max(1, min(tiles, blocks)), way.threads, given)


def segments(
    kind: Kind, n: int, many: int, offsets: str, machine: Machine, names: Names, *, aligned: bool = False
) -> Plan:
    """Return the plan that sorts `many` segments of an array of `n` elements, at least one, in the arrays called `names`.

    Segments of about the mean length are sorted where they lie; the others are listed by their lengths first, on the device.

    Raises:
        ValueError: there are more segments than a list has room for.
    """
    scratch = Scratch()
    steps, own, longest = segment_steps(kind, n, many, offsets, machine, names, scratch, aligned=aligned)
    if n > longest:
        long = long_step(kind, max(many, 1), n, machine, own, scratch, mode=SEGMENTS, offsets=offsets)
        # Measured: segments of 256 take 70.6 us, 72.6 where it may begin early, uneven ones of 4096 509 and 516, others the same.
        steps.append(replace(long, late=True))
    return Plan(tuple(steps), scratch=scratch.used)


def segment_steps(
    kind: Kind, n: int, many: int, offsets: str, machine: Machine, names: Names, scratch: Scratch, *, aligned: bool = False,
    held: int = 0,
) -> tuple[list[Step | Clear], dict[str, Any], int]:  # fmt: skip
    """Return the launches that sort segments, the arguments of one for those in list 5, and how long these are at least, less 1.

    `held`: only segments that a warp sorts are, and the others are listed: in list 3 those of up to so many elements.

    Raises:
        ValueError: there are more segments than a list has room for.
    """
    if many > _LISTED:
        raise ValueError(f"`offsets` has {many + 1} elements: there may be {_LISTED} segments at most")
    bounds = {"starts": Buffer("offsets"), "ends": Buffer("offsets", size_of(offsets) if many else 0)}
    many = max(many, 1)  # of none, an empty one where it would begin
    longest = kernels.LANES[size_of(kind.sorted_as)][-1].span if held else kind.most(machine)
    mean = -(-n // many)
    least, most = 1, 0  # no segment is sorted where it lies
    if mean <= longest or not held:
        way = kernels.way_of(min(mean, longest), size_of(kind.sorted_as))
        assert way is not None
        most = min(way.span, longest)
        least = 1 if most <= _SHORT else most // 4 + 1
    lanes = kernels.LANES[size_of(kind.sorted_as)][-1].span
    spans = (
        *_classes(most, lanes, held=bool(held)),
        *((held, held) if held else _classes_of_blocks(kind, most, longest)),
    )
    lists, number = scratch.take("int32", kernels.CLASSES * many), scratch.take("int32", 8)
    arguments = _arguments(kind, names, many, 0, n) | bounds
    how = {"mode": SEGMENTS, "offsets": offsets}
    steps: list[Step | Clear] = [Clear(number)]
    if most:
        own = {"least": least, "most": most, "cleared": number}
        steps = [_step(kind, many, most, machine, arguments | own, aligned, **how)]
    template = {
        "T": kind.read, "V": kind.values or "uint8", "I": kind.places or "int32", "O": offsets, "KEYS": kind.elements,
        "PLACES": bool(kind.places), "VALUES": bool(kind.values),
        "EACH": kernels.LISTING, "THREADS": kernels.THREADS,
    }  # fmt: skip
    binning = instance_of(kernels.bin_segments, template)
    blocks = _HOST_BLOCKS if machine.host else machine.wave(binning, kernels.THREADS)
    given = {name: arguments[name] for name in ("x", "values", "y", "positions", "moved", "starts", "ends", "n")}
    control = scratch.take("uint64", 2)  # of the kernel of longer segments
    given |= {"lists": lists, "many": number, "control": control, "segments": many, "least": least, "most": most}
    given |= dict(zip(("first", "second", "third", "fourth", "fifth"), spans, strict=True))
    steps.append(Step(binning, min(-(-max(n, many) // kernels.THREADS), blocks), kernels.THREADS, given))
    listed = {"listed": lists, "listed_many": number}
    steps.append(_listed_step(kind, many, spans, offsets, machine, {**arguments, **listed}))
    for k, span in enumerate(spans[3:], 3):
        if spans[k - 1] < min(n, span) and span <= longest:  # else no segment is in that list
            own = {**listed, "first_listed": k * many, "number": k, "most": span}
            steps.append(_step(kind, many, span, machine, arguments | own, aligned, listed=True, **how))
    return steps, {**arguments, **listed, "control": control, "first_listed": 5 * many, "number": 5}, spans[-1]


def _classes(most: int, longest: int, *, held: bool) -> tuple[int, int, int]:
    """Return how long segments that lanes sort, up to `longest`, are in each list; those of about `most` are in none."""
    if not most or most > longest:
        return longest // 8, longest // 2, longest
    if most > _SHORT:
        return most // 4, min(2 * most, longest), longest
    return 2 * most, 4 * most, longest if held else min(max(16 * most, 256), longest)


def _classes_of_blocks(kind: Kind, most: int, longest: int) -> tuple[int, int]:
    """Return the same of segments that blocks sort: one list where most are short, since each takes a launch."""
    ways = kernels.BLOCKS[size_of(kind.sorted_as)]
    first = min(ways[1].span if most <= ways[1].span else most // 4, longest)
    return first, first if most <= _SHORT else longest


def _listed_step(
    kind: Kind, many: int, spans: tuple[int, ...], offsets: str, machine: Machine, arguments: Mapping[str, Any]
) -> Step:
    """Return the launch that sorts the segments of the first three lists."""
    ways = [kernels.way_of(span, size_of(kind.sorted_as)) for span in spans[:3]]
    first = ways[0]
    assert isinstance(first, Lanes)
    template = kind.template(first, mode=SEGMENTS, offsets=offsets, listed=True, host=machine.host)
    for name, way in zip(("SECOND", "THIRD"), ways[1:], strict=True):
        assert isinstance(way, Lanes)
        template |= {f"{name}_SIZE": way.size, f"{name}_ITEMS": way.items}
    found = instance_of(
        kernels.sort_listed_by_lanes,
        {name: value for name, value in template.items() if name not in ("MODE", "LISTED")},
    )
    names = ("x", "values", "y", "positions", "moved", "starts", "ends", "listed", "listed_many", "rows", "n")
    threads = template["THREADS"]
    blocks = _HOST_BLOCKS if machine.host else machine.wave(found, threads)
    return Step(found, max(1, min(many, blocks)), threads, {name: arguments[name] for name in names})


def _arguments(kind: Kind, names: Names, many: int, columns: int, n: int) -> dict[str, Any]:
    """Return the arguments of a kernel that has no list, and leaves no row."""
    return {
        "x": names.x,
        "y": names.y if kind.elements else nothing(kind.read),
        "positions": names.places if kind.places else nothing("int32"),
        "values": names.values if kind.values else nothing("uint8"),
        "moved": names.moved if kind.values else nothing("uint8"),
        "starts": nothing("int64"), "ends": nothing("int64"), "listed": nothing("int32"), "listed_many": nothing("int32"),
        "cleared": nothing("int32"), "rows": many, "columns": columns, "n": n, "least": 1,
        "most": 1 << 62, "first_listed": 0, "number": 0,
    }  # fmt: skip


def _step(
    kind: Kind, many: int, columns: int, machine: Machine, arguments: Mapping[str, Any], aligned: bool, *, listed: bool = False,
    mode: int = ROWS, offsets: str = "int64",
) -> Step:  # fmt: skip
    """Return the launch that sorts rows of at most `columns` elements."""
    way = kernels.way_of(columns, size_of(kind.sorted_as))
    assert way is not None
    found = instance_for(kind, way, columns, aligned, mode=mode, offsets=offsets, listed=listed, host=machine.host)
    if isinstance(way, Block):
        threads, tiles = way.threads, many
    else:
        threads = kernels.HOST_THREADS if machine.host else kernels.THREADS
        tiles = -(-many // (threads // way.size))
    blocks = _HOST_BLOCKS if machine.host else _MOST_BLOCKS
    if not machine.host and listed:  # of how many rows the host does not know
        blocks = machine.wave(found, threads)
    elif not machine.host and mode == SEGMENTS and isinstance(way, Lanes):  # where the next ones lie is asked for ahead
        blocks = _WAVES * machine.wave(found, threads)
    return Step(found, max(1, min(tiles, blocks)), threads, dict(arguments))


__all__ = [
    "LONGEST", "MOVED", "PLACES", "SUPPORTED", "VALUES", "Kind", "Names", "instance_for", "is_aligned", "long_rows", "long_step",
    "rows", "segment_steps", "segments", "width_of",
]  # fmt: skip
