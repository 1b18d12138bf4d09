"""Limits of a program: shared memory, as the kernel states it and as an architecture has it; what else the hardware has."""

from __future__ import annotations

from collections.abc import Mapping

from prism.lang.check.env import fail
from prism.lang.diagnostics import CompileError, Label, Span
from prism.lang.errors import calls as errors
from prism.lang.errors import launch
from prism.lang.facts.budget import most_threads
from prism.lang.intrinsics.declaration import number_of, supports
from prism.lang.lower.pieces import Piece, pieces
from prism.lang.lower.skew import unskew
from prism.lang.tree import Apply, Expr, Function, SharedDeclare
from prism.lang.tree.plan import Layout, Program
from prism.lang.tree.walk import calls, statements, terms

CLUSTERS = RINGS = "sm_90"
HARDWARE_BARRIERS = 16
SHOWN = 8
"""Objects that a message names."""
SHARED_LIMITS = {
    75: 64 << 10, 80: 163 << 10, 86: 99 << 10, 87: 163 << 10, 89: 99 << 10, 90: 227 << 10, 100: 227 << 10, 103: 227 << 10,
    110: 227 << 10, 120: 99 << 10, 121: 99 << 10,
}  # fmt: skip
"""Bytes of shared memory that a block can have, by architecture. Source: CUDA Programming Guide, compute capabilities."""


def check_shared_limit(function: Function, layouts: Mapping[Function, Layout]) -> None:
    """R16 CALL-SMEM: a function and its callees use no more shared memory than its `requires` says."""
    limit, needs = function.shared_limit, layouts[function].bytes
    if limit is not None and needs > limit:
        span = first_beyond(function, layouts, limit) or function.span
        labels = (Label(function.span, f"`@requires(..., smem={limit})`"),)
        fail(errors.CallSharedMemory(span=span, name=function.name, needs=needs, allows=limit, labels=labels))


def first_beyond(function: Function, layouts: Mapping[Function, Layout], limit: int) -> Span | None:
    """Return the first declaration or call that ends beyond `limit` bytes of the function's frame."""
    layout = layouts[function]
    for statement in statements(function.body):
        if isinstance(statement, SharedDeclare):
            symbol = statement.symbol
            if symbol in layout.offsets and layout.offsets[symbol] + layout.total_bytes(symbol) > limit:
                return statement.span
        for call in calls(statement):
            takes = layouts[call.function].bytes
            if takes and layout.frame.get(id(call), 0) + takes > limit:
                return call.span
    return None


def check_architecture(program: Program, arch: str, limit: int | None = None) -> None:
    """Refuse intrinsics, and clusters, that an architecture does not have, each where it stands; and too much shared memory.

    `limit`: the bytes of it that a block of the device at hand can have; without one, the architecture's.
    """
    size = program.entry.bound.block
    if size is not None and size > 1 and not supports(arch, CLUSTERS):
        error = launch.Architecture(
            span=program.entry.span, name=f"a cluster of {size} blocks", needs=CLUSTERS, arch=arch
        )
        raise CompileError(error)
    if unskew(program).plans[program.entry].mbarriers and not supports(arch, RINGS):
        span, name = program.plans[program.entry].cycles[0].rings[0].span, "a ring"
        raise CompileError(launch.Architecture(span=span, name=name, needs=RINGS, arch=arch))
    found: dict[Expr, launch.Architecture] = {}
    for function in program.functions:
        for statement in statements(function.body):
            for part in terms(statement):
                if isinstance(part, Apply) and not supports(arch, part.intrinsic.min_arch):
                    name, needs = part.intrinsic.name, part.intrinsic.min_arch
                    found[part] = launch.Architecture(span=part.span, name=name, needs=needs, arch=arch)
    if found:
        raise CompileError(*found.values())
    check_shared_memory(program, arch, SHARED_LIMITS.get(number_of(arch)) if limit is None else limit)


def check_shared_memory(program: Program, arch: str, limit: int | None) -> None:
    """Refuse a kernel that needs more shared memory than a block can have, where the first object ends beyond that."""
    entry, layouts = program.entry, unskew(program).layouts
    needs = layouts[entry].bytes
    if entry.kind != "global" or limit is None or needs <= limit:
        return
    objects = [piece for piece in pieces(unskew(program), entry) if not piece.frame]
    objects = sorted(objects, key=lambda piece: -piece.size)
    more = [f"and {len(objects) - SHOWN} smaller objects"] if len(objects) > SHOWN else []
    enough = next((n for n in sorted(SHARED_LIMITS) if needs <= SHARED_LIMITS[n]), 0)
    elsewhere = f", or compile for sm_{enough}, whose blocks can have {SHARED_LIMITS[enough]}" if enough else ""
    raise CompileError(
        launch.SharedMemory(
            span=first_beyond(entry, layouts, limit) or entry.span,
            name=entry.name,
            needs=needs,
            has=limit,
            arch=arch,
            objects="\n".join([*map(_describe_piece, objects[:SHOWN]), *more]),
            elsewhere=elsewhere,
        )
    )


def _describe_piece(piece: Piece) -> str:
    copies = f", {piece.copies} copies of {piece.stride}" if piece.copies and not piece.mbarriers else ""
    what = f"mbarriers of `{piece.name}`" if piece.mbarriers else f"`{piece.name}`"
    where = "" if piece.mbarriers else f" (called at line {piece.line})" if piece.depth else f" (line {piece.line})"
    return f"{what}: {piece.size} bytes{copies}{where}"


def allocate_named(program: Program) -> Mapping[int, int]:
    """Return, for each size of unit that meets at a named barrier, the hardware's number of its first unit's barrier.

    Every unit of a block needs a number of its own; 0 is `__syncthreads`. Raises ValueError when 16 are not enough.
    """
    sizes = sorted({b.unit.size for plan in program.plans.values() for b in plan.barriers if b.kind == "named"})
    threads = most_threads(program.entry)
    bases: dict[int, int] = {}
    free = 1
    for size in sizes:
        bases[size] = free
        free += max(1, threads // size)
    if free > HARDWARE_BARRIERS:
        wants = ", ".join(f"{max(1, threads // size)} for units of {size} threads" for size in sizes)
        raise ValueError(
            f"a block of up to {threads} threads needs {free - 1} named barriers ({wants}), and the hardware has "
            f"{HARDWARE_BARRIERS - 1}; state the block's size with @attr('__launch_bounds__(...)'), or use larger units"
        )
    return bases
