"""What a copy from some strides to others comes to: few axes, units as wide as they lie, and the kernel whose pieces fit them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from prism.host.plan import OUT, Plan, Reach, Scratch, Step, instance_of
from prism.kernels.transform import move_axes, move_pieces, move_tiles, move_words, note_axis
from prism.kernels.transform.pieces import GATHERED, RUNS, SCATTERED, SINGLE, STRAIGHT
from prism.runtime.instance import Instance

THREADS = 256
WIDEST = 16  # bytes that a thread moves at once
SIZES = (1, 2, 4, 8, 16)
TILES = {
    1: ((256, 256), (128, 128)),
    2: ((128, 128), (64, 64)),
    4: ((64, 64), (32, 32)),
    8: ((32, 32),),
    16: ((32, 32),),
}
"""Rows and columns of tiles that are moved by vectors, by the bytes of units: large ones, and for few or odd rows small ones."""
SINGLES = {1: (128, 128), 2: (64, 64), 4: (64, 64), 8: (32, 32), 16: (32, 32)}
"""Those of tiles of which a side is not."""
SHIFTED = {1: (128, 32), 2: (128, 64), 4: (128, 64), 8: (32, 64)}
"""Rows, and words of at least 4 bytes across, of tiles whose rows begin anywhere."""
_FULL = 264  # blocks, from which on large tiles are taken: two for each multiprocessor of a large GPU
_TYPES = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64", 16: "complex128"}
_WELL, _LEAST = 0.9, 0.4  # of a tile's elements: where so many are there, nothing else is tried; and that there must be
_REACH = 2**29  # units, that a piece reaches over along an axis: kernels count them in 32 bits
_LAUNCHES = 64  # that a copy along many axes is made of, at most


@dataclass(frozen=True, slots=True)
class Axis:
    """Units at equal distances in the source and in the target."""

    extent: int
    source: int
    target: int


_NONE = Axis(1, 0, 0)


@dataclass(frozen=True, slots=True)
class Move:
    """Units of `size` bytes, moved along axes, the target's innermost last; strides in units."""

    size: int
    axes: tuple[Axis, ...]


def moves_of(
    shape: tuple[int, ...], source: tuple[int, ...], target: tuple[int, ...], size: int, begins: tuple[int, int]
) -> Move:
    """Return the move of elements of `size` bytes; strides in bytes.

    `begins`: how many bytes the source and the target begin behind a multiple of 16; -1: it is not known, but for elements' size.
    """
    axes = [Axis(*one) for one in zip(shape, source, target, strict=True) if one[0] != 1]
    of = [*(begin for begin in begins if begin >= 0), *(step for axis in axes for step in (axis.source, axis.target))]
    unit = math.gcd(WIDEST, size, *of)
    if unit < size:
        axes.append(Axis(size // unit, unit, unit))
    axes = merge(sorted(axes, key=lambda axis: (-axis.target, -abs(axis.source))))
    while axes and unit < WIDEST and axes[-1].source == axes[-1].target == unit and axes[-1].extent % 2 == 0:
        others = [*begins, *(step for axis in axes[:-1] for step in (axis.source, axis.target))]
        if math.gcd(2 * unit, *others) < 2 * unit:
            break
        unit *= 2
        inner = Axis(axes[-1].extent // 2, unit, unit)
        axes = [*axes[:-1], inner] if inner.extent > 1 else axes[:-1]
    return Move(unit, tuple(Axis(axis.extent, axis.source // unit, axis.target // unit) for axis in axes))


def merge(axes: list[Axis]) -> list[Axis]:
    """Return the fewest axes that reach the same elements in the same order, the innermost last."""
    found: list[Axis] = []
    for axis in axes:
        if found and (found[-1].source, found[-1].target) == (axis.source * axis.extent, axis.target * axis.extent):
            found[-1] = Axis(found[-1].extent * axis.extent, axis.source, axis.target)
        else:
            found.append(axis)
    return found


def plan_move(move: Move, begins: tuple[int, int]) -> Plan:
    """Return the plan of a move; `begins` as of `moves_of`."""
    axes = move.axes or (Axis(1, 1, 1),)
    near = min((axis for axis in axes if axis.source), key=lambda axis: abs(axis.source), default=axes[-1])
    if near is axes[-1] or axes[-1].source == 0:
        return _in_pieces(replace(move, axes=axes), STRAIGHT)
    step, use = _in_tiles(move, near, begins)
    if step is not None and use >= _WELL:
        return Plan((step,))
    for way in (RUNS, GATHERED, SCATTERED) if move.size < WIDEST else ():
        if _fits(move, begins, way):
            return _in_pieces(move, way)
    return Plan((step,)) if step is not None and use >= _LEAST else _in_pieces(move, SINGLE)


def tiles_for(size: int, vectors: bool, tile: tuple[int, int]) -> Instance:
    """Return the kernel that moves units of so many bytes by tiles; `vectors`: 16 bytes at a time."""
    template = {"T": _TYPES[size], "W": _TYPES[max(4, size)], "ROWS": tile[0], "COLUMNS": tile[1], "VECTORS": vectors}
    threads = min(
        THREADS, tile[0] * tile[1] * size // 64
    )  # so that each moves 64 bytes at least, all of them under way at once
    return instance_of(
        move_tiles, {**template, "THREADS": threads, "BLOCKS": (3 if size == 1 else 4) * THREADS // threads}
    )


def pieces_for(size: int, way: int) -> Instance:
    """Return the kernel that moves units of so many bytes by pieces."""
    return instance_of(
        move_pieces, {"T": _TYPES[size], "W": _TYPES[max(4, size)], "EACH": _each(size, way), "WAY": way}
    )


def _in_tiles(move: Move, near: Axis, begins: tuple[int, int]) -> tuple[Step | None, float]:
    """Return the launch that moves by tiles, where there are few enough axes, and how much of its tiles is of use."""
    rows, many = move.axes[-1], WIDEST // move.size
    others = [axis for axis in move.axes[:-1] if axis is not near]
    if len(others) > 3:
        return None, 0
    outer = [_NONE] * (3 - len(others)) + others
    load = near.source == 1 and _aligned(begins[0], [near.extent, rows.source, *(axis.source for axis in others)], many)
    store = rows.target == 1 and _aligned(
        begins[1], [rows.extent, near.target, *(axis.target for axis in others)], many
    )
    vectors = load and store
    words = not vectors and move.size in SHIFTED and near.source == rows.target == 1 and min(begins) >= 0
    batch = math.prod(axis.extent for axis in others)
    tiles = (
        ((SHIFTED[move.size][0], SHIFTED[move.size][1] * max(1, 4 // move.size)),)
        if words
        else TILES[move.size]
        if vectors
        else (SINGLES[move.size],)
    )
    tile = _tile_of(tiles, rows.extent, near.extent, batch)
    blocks = _blocks(tile, rows.extent, near.extent)
    use = rows.extent * near.extent / (blocks * tile[0] * tile[1])
    if words:
        return _in_words(move, rows, near, outer, begins), use
    numbers = {"rows": rows.extent, "columns": near.extent, "x_apart": rows.source, "x_near": near.source}
    numbers |= {"y_apart": near.target, "y_near": rows.target}
    for k, axis in enumerate(outer, 1):
        numbers |= {f"n{k}": axis.extent, f"x{k}": axis.source, f"y{k}": axis.target}
    kernel = tiles_for(move.size, vectors, tile)
    return Step(kernel, blocks * batch, dict(kernel.template)["THREADS"], {**_ends(move), **numbers}), use


def _tile_of(tiles: Sequence[tuple[int, int]], rows: int, columns: int, batch: int) -> tuple[int, int]:
    """Return the large tile, where that keeps a GPU busy and leaves little of tiles without use, else the small one."""
    large, small = tiles[0], tiles[-1]
    room, least = (_blocks(tile, rows, columns) * tile[0] * tile[1] for tile in (large, small))
    return large if _blocks(large, rows, columns) * batch >= _FULL and room <= 1.1 * least else small


def _blocks(tile: tuple[int, int], rows: int, columns: int) -> int:
    """Return how many tiles a matrix takes."""
    return -(-rows // tile[0]) * -(-columns // tile[1])


def _in_words(move: Move, rows: Axis, near: Axis, outer: list[Axis], begins: tuple[int, int]) -> Step:
    """Return the launch that moves units of up to 8 bytes, whose rows begin anywhere."""
    many, halo = max(1, 4 // move.size), 32 // move.size
    ends = _ends(move)
    length = 1 + sum(abs(axis.source) * (axis.extent - 1) for axis in move.axes)
    numbers = {
        "rows": rows.extent,
        "columns": near.extent,
        "x_apart": rows.source,
        "y_apart": near.target,
        "length": length,
    }
    numbers |= {"x_past": (begins[0] // move.size - ends["x0"]) % many, "y_past": begins[1] // move.size}
    for k, axis in enumerate(outer, 1):
        numbers |= {f"n{k}": axis.extent, f"x{k}": axis.source, f"y{k}": axis.target}
    high, across = SHIFTED[move.size]
    blocks = (
        ((rows.extent + halo - 2) // high + 1)
        * -(-near.extent // (across * many))
        * math.prod(axis.extent for axis in outer)
    )
    return Step(words_for(move.size), blocks, THREADS, {**ends, **numbers})


def words_for(size: int) -> Instance:
    """Return the kernel that moves units of up to 8 bytes whose rows begin anywhere."""
    rows, across = SHIFTED[size]
    words = {"T": _TYPES[size], "W": _TYPES[max(4, size)], "ROWS": rows, "ACROSS": across, "BLOCKS": 3}
    return instance_of(move_words, words)


def _aligned(begins: int, steps: list[int], many: int) -> bool:
    return begins % WIDEST == 0 and all(step % many == 0 for step in steps)


def _ends(move: Move, source: int = 0, target: int = 0) -> dict[str, Any]:
    """Return both buffers, so many units behind where the move begins, and where in the source's that is."""
    before = -sum(min(0, axis.source * (axis.extent - 1)) for axis in move.axes)
    return {"x": Reach("x", -before * move.size), "y": Reach(OUT, target * move.size), "x0": before + source}


def _in_pieces(move: Move, way: int) -> Plan:
    """Return launches that move by pieces: one, where there are few enough axes."""
    axes, many, extents = move.axes, WIDEST // move.size, _piece(move, way)
    inside = [k for k, extent in enumerate(extents) if extent > 1]
    for k in range(len(axes) - 1, -1, -1):
        if len(inside) < 4 and k not in inside:
            inside.append(k)
    inside.sort()
    tile = [_NONE] * (4 - len(inside)) + [axes[k] for k in inside]
    taken = [1] * (4 - len(inside)) + [extents[k] for k in inside]
    order = _as_read(tile)
    numbers: dict[str, int] = {}
    for k, (axis, extent) in enumerate(zip(tile, taken, strict=True), 1):
        numbers |= {f"n{k}": axis.extent, f"t{k}": extent, f"x{k}": axis.source, f"y{k}": axis.target}
        numbers |= {f"o{k}": order[k - 1], f"c{k}": -(-axis.extent // extent)}
    for name, lies, rows in (("m", taken, way == GATHERED), ("k", [taken[k] for k in order], way == SCATTERED)):
        divisors = [*lies[:3], lies[3] // many if rows else lies[3]]
        numbers |= {f"{name}{k}": _inverse(divisors[k - 1]) for k in (2, 3, 4)}
    others = [axis for k, axis in enumerate(axes) if k not in inside]
    alone, others = others[: max(0, len(others) - 3)], others[max(0, len(others) - 3) :]
    for k, axis in enumerate([_NONE] * (3 - len(others)) + others, 5):
        numbers |= {f"n{k}": axis.extent, f"x{k}": axis.source, f"y{k}": axis.target}
    blocks = math.prod(-(-axis.extent // extent) for axis, extent in zip(tile, taken, strict=True))
    blocks *= math.prod(axis.extent for axis in others)
    if math.prod(axis.extent for axis in alone) > _LAUNCHES:
        return _along_all(move)
    kernel = pieces_for(move.size, way)
    starts = itertools.product(*(range(axis.extent) for axis in alone))
    return Plan(
        tuple(Step(kernel, blocks, THREADS, {**_ends(move, *_at(alone, start)), **numbers}) for start in starts)
    )


def _inverse(divisor: int) -> int:
    """Return what kernels divide by a number with: 2^32 / divisor, rounded up; 0 of 1."""
    return ((2**32 - 1) // divisor + 1) % 2**32


def _along_all(move: Move) -> Plan:
    """Return launches that put the axes into memory, and one that moves along them."""
    scratch = Scratch()
    table = scratch.take("int64", 3 * len(move.axes))
    notes = [
        Step(
            instance_of(note_axis, {}), 1, 32,
            {"table": table, "at": k, "extent": axis.extent, "source": axis.source, "target": axis.target},
        )
        for k, axis in enumerate(move.axes)
    ]  # fmt: skip
    many = math.prod(axis.extent for axis in move.axes)
    numbers = {"table": table, "axes": len(move.axes), "many": many}
    kernel = instance_of(move_axes, {"T": _TYPES[move.size]})
    return Plan((*notes, Step(kernel, -(-many // THREADS), THREADS, {**_ends(move), **numbers})), scratch=scratch.used)


def _each(size: int, way: int) -> int:
    """Return how many units of a piece a thread moves."""
    return {1: 8, 2: 16}.get(size, 64 // size) if way in (STRAIGHT, SINGLE) else 64 // size


def _as_read(axes: Sequence[Axis]) -> list[int]:
    """Return axes, by their numbers, as they lie in the source: the outermost first."""
    return sorted(range(len(axes)), key=lambda k: (-abs(axes[k].source) if axes[k].source else -math.inf, k))


def _piece(move: Move, way: int) -> list[int]:
    """Return how many units along each axis a piece has that is moved in a way."""
    many = 1 if way in (STRAIGHT, SINGLE) else WIDEST // move.size
    return piece_of(move.axes, _each(move.size, way) * THREADS, way != STRAIGHT, many)


def _fits(move: Move, begins: tuple[int, int], way: int) -> bool:
    """Whether pieces lie as the way asks for: a run or rows of whole vectors, at multiples of 16 bytes."""
    many, extents = WIDEST // move.size, _piece(move, way)
    axes = move.axes
    source, target = ([getattr(axis, side) for axis in axes] for side in ("source", "target"))
    read, written = _as_read(axes), list(range(len(axes)))
    ends = begins[0] % WIDEST == 0 and begins[1] % WIDEST == 0
    starts = all(
        extent == axis.extent or extent * step % many == 0
        for axis, extent, *steps in zip(axes, extents, source, target, strict=True)
        for step in steps
    ) and all(
        step % many == 0
        for axis, extent, *steps in zip(axes, extents, source, target, strict=True)
        if extent == 1
        for step in steps
    )
    if not (ends and starts):
        return False
    from_run, to_run = _is_run(axes, extents, read, source), _is_run(axes, extents, written, target)
    if way == RUNS:
        return from_run and to_run
    if way == GATHERED:
        return from_run and _has_rows(axes, extents, written, target, many)
    return to_run and _has_rows(axes, extents, read, source, many)


def _is_run(axes: Sequence[Axis], extents: list[int], order: list[int], steps: list[int]) -> bool:
    """Whether the units of a piece lie one behind the other."""
    run, ended = 1, False
    for k in reversed(order):
        if extents[k] == 1:
            continue
        if ended or steps[k] != run:
            return False
        run, ended = run * axes[k].extent, extents[k] < axes[k].extent
    return True


def _has_rows(axes: Sequence[Axis], extents: list[int], order: list[int], steps: list[int], many: int) -> bool:
    """Whether the innermost axis has whole vectors, and all others lead to multiples of them."""
    *others, last = order
    whole = steps[last] == 1 and axes[last].extent % many == 0 and extents[last] % many == 0
    return whole and all(steps[k] % many == 0 for k in others)


def _at(axes: list[Axis], index: tuple[int, ...]) -> tuple[int, int]:
    """Return where an index is, in both arrays."""
    pairs = list(zip(index, axes, strict=True))
    return sum(i * axis.source for i, axis in pairs), sum(i * axis.target for i, axis in pairs)


def piece_of(axes: tuple[Axis, ...], room: int, shared: bool, many: int) -> list[int]:
    """Return how many units along each axis a piece has: at most `room`, along at most four axes, in long runs on both sides."""
    written = list(range(len(axes)))[::-1]  # the innermost first
    read = sorted(written, key=lambda k: abs(axes[k].source) if axes[k].source else math.inf)
    taken, want = [1] * len(axes), 2
    while want <= room:
        before = list(taken)
        for order in (written, read) if shared else (written,):
            _grow(axes, taken, order, want, room)
        if taken == before and want >= room:
            break
        want *= 2
    return [_even(axis, extent, many) for axis, extent in zip(axes, taken, strict=True)]


def _grow(axes: tuple[Axis, ...], taken: list[int], order: list[int], want: int, room: int) -> None:
    """Lengthen the run that a piece has along axes in an order, to as many units as are wanted, where there is room."""
    run = 1
    for k in order:
        if taken[k] == 1 and sum(extent > 1 for extent in taken) == 4:
            return
        there = min(room // (math.prod(taken) // taken[k]), _REACH // max(1, abs(axes[k].source), axes[k].target))
        taken[k] = min(axes[k].extent, max(1, taken[k], min(-(-want // run), there)))
        run *= taken[k]
        if taken[k] < axes[k].extent or run >= want:
            return


def _even(axis: Axis, most: int, many: int) -> int:
    """Return at most so many, that as many pieces have nearly alike: whole lines, or at least vectors, where there are some."""
    if most == axis.extent:
        return most
    even = -(-axis.extent // -(-axis.extent // most))
    unit = many // math.gcd(many, axis.source, axis.target)
    for wanted in (32, unit) if 1 in (abs(axis.source), axis.target) else (unit,):
        if most >= 2 * wanted:
            return min(-(-even // wanted), most // wanted) * wanted
    return most // unit * unit or most


def kernels() -> Iterator[Instance]:
    """Yield the kernels that copies take, but for those along very many axes."""
    for size in SIZES:
        yield from (tiles_for(size, True, tile) for tile in TILES[size])
        yield tiles_for(size, False, SINGLES[size])
        if size in SHIFTED:
            yield words_for(size)
        for way in (STRAIGHT, SINGLE, RUNS, GATHERED, SCATTERED):
            if size <= 8 or way in (STRAIGHT, SINGLE):
                yield pieces_for(size, way)


__all__ = ["Axis", "Move", "kernels", "moves_of", "pieces_for", "plan_move", "tiles_for", "words_for"]
