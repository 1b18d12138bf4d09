"""What an operation on rows comes to: one launch, by how the rows lie and how wide they are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from prism.host import arguments
from prism.host.lazies import LazyInfo
from prism.host.plan import Buffer, Machine, Plan, Step, instance_of, size_of
from prism.kernels.rows import configurations
from prism.kernels.rows.configurations import (
    BESIDE,
    CLUSTERS,
    COPIED,
    HELD,
    LONG,
    NEXT,
    STAGED,
    Sharing,
    share,
)
from prism.lang.surface import Kernel
from prism.lib.views import View, view_of
from prism.runtime.arrays import ArrayInfo
from prism.runtime.instance import Instance

FLOATS = ("float16", "bfloat16", "float32", "float64")
_VECTOR = 16  # bytes
_MOST = 2**31 - 2**16
"""The widest row: columns are 32-bit numbers, and the last vectors stick out."""

Copies = tuple[tuple[int, int, int, int, int, int], ...]
"""Ways to copy wide rows: how; vectors of all arrays that a thread has of a row, how many rows it has together, threads of a
block, blocks that are on a multiprocessor then, and blocks of a cluster at most. The first that has room for a row is taken."""

ALONE: Copies = ((COPIED, 8, 1, 256, 4, 8), (COPIED, 16, 1, 256, 3, 8))
TOGETHER: Copies = ((COPIED, 8, 2, 256, 3, 8), (COPIED, 16, 1, 256, 3, 8))  # each weight is read for two rows
_MANY: Copies = ((COPIED, 8, 1, 256, 5, 8), (COPIED, 16, 1, 256, 3, 8))

# Of the widest rows weights stay in registers: of a thread's 4 vectors both, of 8 one.
_ONE: Copies = ((COPIED, 8, 2, 256, 3, 4), (COPIED, 16, 1, 128, 6, 8), (BESIDE, 8, 1, 512, 1, 8))
_TWO: Copies = ((COPIED, 8, 2, 256, 3, 2), (COPIED, 16, 1, 256, 3, 2), (BESIDE, 8, 1, 512, 1, 8))
_TWO_LONG: Copies = ((COPIED, 16, 1, 256, 3, 2), *_MANY)

# Gradients: a thread has 16 or 32 columns' sums in registers, or, where there are two of each, 32.
_TURNS: Copies = ((BESIDE, 4, 2, 512, 1, 8), (BESIDE, 8, 1, 512, 1, 8))
_TURNS_TWO: Copies = (
    (BESIDE, 8, 1, 64, 8, 1), (BESIDE, 4, 1, 256, 2, 1), (BESIDE, 8, 1, 256, 2, 2), (BESIDE, 8, 1, 512, 1, 8),
)  # fmt: skip
_TURNS_LONG: Copies = ((BESIDE, 8, 1, 512, 1, 8),)
_TURNS_WIDE: Copies = ((BESIDE, 4, 1, 512, 1, 1),)  # of 32 bits, of one sum, and of two
_TURNS_WIDE_TWO: Copies = ((BESIDE, 8, 1, 256, 2, 1),)
_SPILLING = 64  # sums that a thread has in registers
_FEW = 1024  # elements of a row, up to which two sums of each column are faster by `STAGED`
_MORE = 7168  # the same of one sum
_HALF = 2048  # the same of elements of 32 bits, where all threads have all vectors


@dataclass(frozen=True, slots=True)
class Rows:
    """An array seen as `many` rows of `n` elements, each `stride` elements behind the one before."""

    many: int
    n: int
    stride: int
    scalar: str
    begins: int  # bytes past a multiple of 16
    ready: bool = True  # they lie in memory


def rows_of(name: str, given: ArrayInfo, machine: Machine) -> Rows | None:
    """Return an array as rows along its last axis; None where it must be copied first.

    Raises:
        TypeError: it is of no float type.
        ValueError: it has no axis, or rows are too long.
    """
    if given.scalar not in FLOATS:
        raise TypeError(f"`{name}` must be of {', '.join(FLOATS[:-1])} or {FLOATS[-1]}, not of {given.scalar}")
    if not given.shape:
        raise ValueError(f"`{name}` has no axes: there are no rows")
    n = given.shape[-1]
    if n > _MOST:
        raise ValueError(f"`{name}` has rows of {n} elements, more than {_MOST}")
    if isinstance(given, LazyInfo) or 0 in given.shape:
        return Rows(math.prod(given.shape[:-1]), n, n, given.scalar, 0, ready=False)
    view = view_of(name, given).rows()
    if not given.natural or view is None or not view.rows_dense or (machine.host and not given.contiguous):
        return None
    return Rows(view.shape[0], n, _step(view), given.scalar, view.begins)


def _step(view: View) -> int:
    return view.shape[1] if view.shape[0] == 1 else view.strides[0] // view.size


def past(given: ArrayInfo | None) -> int:
    """Return how many bytes an array begins past a multiple of 16; one that is made begins at one."""
    return 0 if given is None or isinstance(given, LazyInfo) else given.pointer % _VECTOR


def width_of(rows: Sequence[Rows], result: ArrayInfo | None, columns: Sequence[ArrayInfo] = ()) -> int:
    """Return how many elements are loaded at once: those of 16 bytes, or fewer, as rows' lengths and places allow."""
    width = _VECTOR // max(size_of(one.scalar) for one in rows)
    while width > 1:
        lying = all(
            one.n % width == 0
            and (one.stride % width == 0 or one.many <= 1)
            and one.begins % min(width * size_of(one.scalar), _VECTOR) == 0
            for one in rows
        )
        beside = [result] if result is not None else []
        if lying and all(past(one) % min(width * one.dtype.itemsize, _VECTOR) == 0 for one in [*beside, *columns]):
            break
        width //= 2
    return width


def sharing(n: int, width: int, scalar: str, machine: Machine, *, inputs: int = 1) -> Sharing:
    """Return who shares a row of `n` elements, loaded by vectors of `width`, and computed with in the type `scalar`.

    `inputs`: how many numbers are kept of each.
    """
    if machine.host:  # runs all threads of a block in one NumPy operation
        return share(n, width, 8, 1024, (1,), 8)
    old = _arch(machine) < 90
    items = max(32 // (inputs * size_of(scalar) // 4), width)
    return share(n, width, items, 512, (1,) if old else CLUSTERS, max(8, width))


def sharing_wide(rows: Sequence[Rows], width: int, scalar: str, machine: Machine, *, weights: int = 0) -> Sharing:
    """Return who shares rows of several arrays, as `sharing` does, but that parts of wide rows are copied into shared memory.

    `weights`: how many each element has, which are the same for all rows. On one H200 rows of 16 bits are faster two at once
    then, and those of 32 bits one by one, with more blocks beside; of the widest rows weights stay in registers.
    """
    found = sharing(rows[0].n, width, scalar, machine, inputs=len(rows))
    if found.blocks == 1 or not copied_by_vectors(rows, width, machine):
        return found
    short = size_of(rows[0].scalar) == 2
    if not weights:
        ways = ALONE
    elif len(rows) > 1:
        ways = TOGETHER if short else _MANY
    elif weights == 2:
        ways = _TWO if short else _TWO_LONG
    else:
        ways = _ONE if short else _MANY
    return _crowd(_copied(rows, width, ways) or found) if weights else _copied(rows, width, ways) or found


def _crowd(found: Sharing) -> Sharing:
    """Return how rows are shared that are copied, with more blocks on a multiprocessor where these have fewer threads."""
    resident = found.resident * found.most // found.threads
    if found.way != COPIED or resident == found.resident:
        return found
    return replace(found, most=found.threads, resident=resident)


def copied_by_vectors(rows: Sequence[Rows], width: int, machine: Machine) -> bool:
    """Return whether those who share rows can have them in turn, the next one under way: whether they lie as 16-byte vectors."""
    lying = all(one.ready and size_of(one.scalar) <= 4 and width * size_of(one.scalar) == _VECTOR for one in rows)
    return lying and not machine.host and _arch(machine) >= 90


def _copied(rows: Sequence[Rows], width: int, ways: Copies) -> Sharing | None:
    """Return how parts of wide rows are copied into shared memory; None where there is no room."""
    vectors = math.ceil(rows[0].n / width)
    for way, most, together, room, resident, largest in ways:
        each = most // len(rows)
        for blocks in CLUSTERS:
            threads = math.ceil(vectors / (each * blocks) / 32) * 32
            if threads <= room and blocks <= largest:
                return Sharing(
                    each * width, width, threads, blocks, way=way, most=room, resident=resident, rows=together
                )
    return None


def sharing_ahead(rows: Sequence[Rows], width: int, scalar: str, machine: Machine) -> Sharing | None:
    """Return who shares rows of several arrays that blocks have in turn, the next ones on their way into shared memory.

    None where rows do not lie so, or are too wide for a block.
    """
    found = sharing(rows[0].n, width, scalar, machine, inputs=len(rows))
    if found.blocks > 1 or scalar != "float32" or not copied_by_vectors(rows, width, machine):
        return None
    most = next(threads for threads in (128, 256, 512) if found.threads <= threads)
    return replace(found, way=STAGED, most=most, resident=512 // most)


def in_turn(rows: Sequence[Rows], width: int, scalar: str, machine: Machine, *, sums: int = 0) -> Sharing:
    """Return who shares rows of several arrays that those who share them have in turn, as `sharing` does.

    Where a block has a row, the next ones come into its shared memory meanwhile; else into registers. Of wide rows blocks have
    parts of several at once, or of the next ones meanwhile. `sums`: how many each column has in registers.
    """
    short = size_of(rows[0].scalar) == 2
    found = sharing_ahead(rows, width, scalar, machine)
    long = short and ((rows[0].n > _FEW and sums == 2) or (rows[0].n > _MORE and sums == 1))
    if copied_by_vectors(rows, width, machine) and (found is None or long):
        one = _TURNS if found is None else _TURNS_LONG
        found = _copied(rows, width, _TURNS_LONG if not short else _TURNS_TWO if sums == 2 else one)
    elif not short and sums and rows[0].n > _HALF and found is not None and copied_by_vectors(rows, width, machine):
        one_block = _copied(rows, width, _TURNS_WIDE if sums == 1 else _TURNS_WIDE_TWO)
        found = one_block if one_block is not None and fill(rows[0].n, one_block)[1] else found
    if found is None:
        held = sharing(rows[0].n, width, scalar, machine, inputs=len(rows))
        found = held if held.way == LONG else replace(held, way=NEXT, resident=1)
    return found


def fill(n: int, found: Sharing, *, sums: int = 1, short: bool = False) -> tuple[Sharing, bool]:
    """Return how rows of `n` elements are shared, and whether all who share a row in turn have all their vectors of it.

    Then a kernel of its own knows how many there are. Not where a thread has 64 `sums` in registers, of elements of 16 bits, and
    blocks are alone or eight: such kernels spill, and took 8 to 20 % longer on one H200.
    """
    if found.way != BESIDE or n != found.items * found.threads * found.blocks:
        return found, False
    if short and sums * found.items >= _SPILLING and found.blocks in (1, 8):
        return found, False
    return replace(found, most=found.threads), True


def held_whole(n: int, found: Sharing) -> bool:
    """Return whether all who hold a row of `n` elements in registers have all their vectors of it."""
    team: int = found.threads * found.blocks if found.wide else 1 << found.lanes
    return bool(found.way == HELD and n == found.items * team)


def _arch(machine: Machine) -> int:
    return int("".join(filter(str.isdigit, machine.arch)) or 0)


def require_alike(name: str, one: ArrayInfo, of: str, given: ArrayInfo) -> None:
    """Check that an array has the shape and the dtype of another one.

    Raises:
        TypeError, ValueError: it has another dtype, or another shape.
    """
    if one.scalar != given.scalar:
        raise TypeError(f"`{name}` is of {one.scalar}, and `{of}` of {given.scalar}")
    if one.shape != given.shape:
        raise ValueError(f"`{name}` has shape {one.shape}, and `{of}` {given.shape}")


def wanted_type(dtype: Any, result: ArrayInfo | None, scalar: str) -> str:
    """Return the type of a result: what is asked for, or `out`'s, or the array's.

    Raises:
        TypeError: it is no float type.
    """
    found = arguments.scalar_of(dtype) if dtype is not None else scalar if result is None else result.scalar
    if found not in FLOATS:
        raise TypeError(f"`{'out' if dtype is None else 'dtype'}` must be of a float type, not {found}")
    return found


def number_of(value: Any, name: str, otherwise: float) -> float:
    """Return a number that is given, or what stands for None.

    Raises:
        TypeError: it is no number.
    """
    if value is None:
        return otherwise
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"`{name}` must be a number, not {type(value).__qualname__}")
    return float(value)


def types_of(kind: str) -> dict[str, Any]:
    """Return the types that a kernel computes in, where numbers are of the type `kind`: these, and `Pair`s, by their names."""
    return {"A": kind, "P": struct_of(kind, "first", "second")}


def sums_of(kind: str, scalars: Sequence[str]) -> dict[str, Any]:
    """Return the types that a kernel computes in, as `types_of`, and adds up in: float64, unless all arrays are of 16 bits.

    Rounding at each of some hundred sums would show in results of 32 bits.
    """
    wide = "float64" if any(size_of(one) > 2 for one in scalars) else kind
    return {"A": kind, "D": wide, "P": types_of(wide)["P"]}


def guess_of(scalar: str) -> str:
    """Return the type of what the mean of a row of such elements is guessed by, by its name."""
    return struct_of(scalar, "first", "second", "third") if size_of(scalar) > 2 else scalar


def struct_of(kind: str, *fields: str) -> str:
    """Return a struct of numbers of the type `kind`, by its name."""
    return "struct{" + ",".join(f"{name}:{kind}" for name in fields) + "}"


def number_type(scalars: Sequence[str]) -> str:
    """Return what is computed in: float32, or float64 where an array is of that."""
    return "float64" if "float64" in scalars else "float32"


def template_of(found: Sharing) -> dict[str, Any]:
    """Return the template arguments that say how rows are shared."""
    return {
        "ITEMS": found.items, "WIDTH": found.width, "BLOCKS": found.blocks, "WIDE": found.wide, "THREADS": found.most,
        "RESIDENT": found.resident,
        "ROWS": found.rows,
        "WAY": found.way,
    }  # fmt: skip


def rows_ahead(rows: Rows, found: Sharing) -> int:
    """Return how many blocks, or clusters, later are those whose rows a block asks for; 0: it asks for none."""
    if found.way != HELD or not rows.ready or (rows.stride != rows.n and not found.wide):
        return 0
    each = 1 if found.wide else found.threads >> found.lanes
    return int(configurations.AHEAD // max(rows.stride * size_of(rows.scalar) * each, 1))


def launch(
    kernel: Kernel,
    template: Mapping[str, Any],
    arguments: Mapping[str, Any],
    rows: Rows,
    found: Sharing,
    machine: Machine,
) -> Plan:
    """Return the plan of one launch on rows that are shared so."""
    groups = groups_of(rows, found)
    ahead = rows_ahead(rows, found)
    chosen = instance_of(kernel, {**template, **template_of(found)})
    if found.way in (NEXT, STAGED, BESIDE):
        ahead = groups = min(groups, clusters_of(found, chosen, machine))
    numbers = {"rows": rows.many, "n": rows.n, "lanes": found.lanes, "ahead": ahead}
    return Plan((Step(chosen, found.blocks * groups, found.threads, {**arguments, **numbers}),))


def groups_of(rows: Rows, found: Sharing) -> int:
    """Return how many blocks, or clusters, have a row, or several together."""
    together = found.rows if found.wide else found.threads >> found.lanes
    many: int = -(-rows.many // together)
    return many


def clusters_of(found: Sharing, kernel: Instance, machine: Machine) -> int:
    """Return how many clusters of such blocks, or blocks, of a kernel run at once."""
    if machine.host:
        return 1
    many: int = machine.multiprocessors * found.resident * found.most // found.threads
    if found.blocks > 1 or found.way == BESIDE:
        many = max(1, machine.wave(kernel, found.threads) // found.blocks)
    return many


__all__ = [
    "FLOATS", "Buffer", "Rows", "clusters_of", "copied_by_vectors", "fill", "groups_of", "guess_of", "held_whole", "in_turn",
    "launch", "number_of", "number_type", "past", "require_alike", "rows_ahead", "rows_of", "sharing", "sharing_ahead",
    "sharing_wide", "size_of", "struct_of", "sums_of", "template_of", "types_of", "wanted_type", "width_of",
]  # fmt: skip
