"""The stages in order: parse, instantiate, check, place, sync. `build` is the way from a kernel to a program."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from prism.lang import again, surface, whole
from prism.lang.align import check_alignment
from prism.lang.blocks import check_blocks
from prism.lang.check import check
from prism.lang.check.env import fail
from prism.lang.diagnostics import CompileError, Label, Span
from prism.lang.emit import allocate_named
from prism.lang.errors import calls as errors
from prism.lang.errors import launch
from prism.lang.errors.syntax import TooDeep
from prism.lang.inlined import traced
from prism.lang.intrinsics.declaration import number_of, supports
from prism.lang.pieces import Piece, pieces
from prism.lang.place import place, shared_bytes, with_mbarriers
from prism.lang.plan import Layout, Program
from prism.lang.scopes import check_scopes
from prism.lang.skew import shown, skewed
from prism.lang.sync import plan
from prism.lang.tree import Apply, Expr, Function, Pointer, SharedDeclare, Symbol, expressions
from prism.lang.tree.walk import calls, statements, subexpressions

CLUSTERS = RINGS = "sm_90"
SHOWN = 8
"""Objects that a message names."""
SHARED_LIMITS = {
    75: 64 << 10, 80: 163 << 10, 86: 99 << 10, 87: 163 << 10, 89: 99 << 10, 90: 227 << 10, 100: 227 << 10, 103: 227 << 10,
    110: 227 << 10, 120: 99 << 10, 121: 99 << 10,
}  # fmt: skip
"""Bytes of shared memory that a block can have, by architecture. Source: CUDA Programming Guide, compute capabilities."""


def build(kernel: surface.Kernel, template: Mapping[str, object] | None = None) -> Program:
    """Return the checked and synchronised program of a kernel or device function. Raises CompileError."""
    with _uncollected():
        functions = check(kernel, template)
        try:
            return planned(functions)
        except CompileError as failure:
            raise CompileError(*(traced(error, functions) for error in failure.errors)) from None
        except RecursionError:
            raise CompileError(TooDeep(span=functions[-1].span, name=functions[-1].name)) from None


@contextmanager
def _uncollected() -> Iterator[None]:
    """Nothing looks for cycles meanwhile: what a program is made of stays, and is a sixth faster made so."""
    _pause.begin()
    try:
        yield
    finally:
        _pause.end()


class _Pause:
    """Threads for which collecting is off; the last that ends puts it on again, if it was on when the first began."""

    def __init__(self) -> None:
        self.lock, self.threads, self.on = threading.Lock(), 0, False

    def begin(self) -> None:
        with self.lock:
            if self.threads == 0:
                self.on = gc.isenabled()
                gc.disable()
            self.threads += 1

    def end(self) -> None:
        with self.lock:
            self.threads = max(0, self.threads - 1)
            if self.threads == 0 and self.on:
                gc.enable()

    def in_child(self) -> None:
        """A forked child has one thread, and what the others of its parent began does not end in it."""
        if self.threads and self.on:
            gc.enable()
        self.__init__()  # type: ignore[misc]


_pause = _Pause()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pause.in_child)


def planned(functions: tuple[Function, ...]) -> Program:
    """Return the program of checked functions, callees first."""
    check_blocks(functions)
    layouts: dict[Function, Layout] = {}
    scopes: dict[Function, frozenset[Symbol]] = {}
    for function in functions:
        memo = again.notes(function) if function.kind == "device" else {}
        if "layout" not in memo:
            check_alignment(function)
            memo["scopes"] = check_scopes(function, scopes)
            memo["layout"] = place(function, layouts)
        layouts[function], scopes[function] = memo["layout"], memo["scopes"]
        check_shared_limit(function, layouts)
    plans, entry = plan(functions, layouts), functions[-1]
    layouts[entry] = with_mbarriers(layouts[entry], plans[entry])
    check_shared_limit(entry, layouts)
    program = Program(entry, functions, plans, layouts)
    for one in dict.fromkeys((program, skewed(program))):
        whole.check(one)
    check_shared_limit(entry, shown(program).layouts)
    try:
        allocate_named(program)
    except ValueError:
        fail(errors.NamedBarriers(span=program.entry.span, name=program.entry.name))
    return program


def check_shared_limit(function: Function, layouts: Mapping[Function, Layout]) -> None:
    """R16 CALL-SMEM: a function and its callees use no more shared memory than its `requires` says."""
    limit, needs = function.shared_limit, layouts[function].bytes
    if limit is not None and needs > limit:
        span = beyond(function, layouts, limit) or function.span
        labels = (Label(function.span, f"`@requires(..., smem={limit})`"),)
        fail(errors.CallSharedMemory(span=span, name=function.name, needs=needs, allows=limit, labels=labels))


def beyond(function: Function, layouts: Mapping[Function, Layout], limit: int) -> Span | None:
    """Return the first declaration or call that ends beyond `limit` bytes of the function's frame."""
    layout = layouts[function]
    for statement in statements(function.body):
        if isinstance(statement, SharedDeclare):
            symbol = statement.symbol
            copies = symbol.type.ring if isinstance(symbol.type, Pointer) else 0
            size = layout.strides[symbol] * copies if symbol in layout.strides else shared_bytes(symbol)
            if layout.offsets[symbol] + size > limit:
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
    if shown(program).plans[program.entry].mbarriers and not supports(arch, RINGS):
        span, name = program.plans[program.entry].cycles[0].rings[0].span, "a ring"
        raise CompileError(launch.Architecture(span=span, name=name, needs=RINGS, arch=arch))
    found: dict[Expr, launch.Architecture] = {}
    for function in program.functions:
        for statement in statements(function.body):
            for part in (part for e in expressions(statement) for part in subexpressions(e)):
                if isinstance(part, Apply) and not supports(arch, part.intrinsic.min_arch):
                    name, needs = part.intrinsic.name, part.intrinsic.min_arch
                    found[part] = launch.Architecture(span=part.span, name=name, needs=needs, arch=arch)
    if found:
        raise CompileError(*found.values())
    check_shared_memory(program, arch, SHARED_LIMITS.get(number_of(arch)) if limit is None else limit)


def check_shared_memory(program: Program, arch: str, limit: int | None) -> None:
    """Refuse a kernel that needs more shared memory than a block can have, where the first object ends beyond that."""
    entry, layouts = program.entry, shown(program).layouts
    needs = layouts[entry].bytes
    if entry.kind != "global" or limit is None or needs <= limit:
        return
    objects = [piece for piece in pieces(shown(program), entry) if not piece.frame]
    objects = sorted(objects, key=lambda piece: -piece.size)
    more = [f"and {len(objects) - SHOWN} smaller objects"] if len(objects) > SHOWN else []
    enough = next((n for n in sorted(SHARED_LIMITS) if needs <= SHARED_LIMITS[n]), 0)
    elsewhere = f", or compile for sm_{enough}, whose blocks can have {SHARED_LIMITS[enough]}" if enough else ""
    raise CompileError(
        launch.SharedMemory(
            span=beyond(entry, layouts, limit) or entry.span,
            name=entry.name,
            needs=needs,
            has=limit,
            arch=arch,
            objects="\n".join([*map(_told, objects[:SHOWN]), *more]),
            elsewhere=elsewhere,
        )
    )


def _told(piece: Piece) -> str:
    copies = f", {piece.copies} copies of {piece.stride}" if piece.copies and not piece.mbarriers else ""
    what = f"mbarriers of `{piece.name}`" if piece.mbarriers else f"`{piece.name}`"
    where = "" if piece.mbarriers else f" (called at line {piece.line})" if piece.depth else f" (line {piece.line})"
    return f"{what}: {piece.size} bytes{copies}{where}"
