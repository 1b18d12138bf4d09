"""The plan in C++: barriers, and what rings, asynchronous copies and wgmma need, each with the accesses that force it."""

from __future__ import annotations

from typing import assert_never

from prism.lang.cuda.names import GRID_WORD, comment
from prism.lang.diagnostics import InternalError
from prism.lang.emit.context import INDENT, Context
from prism.lang.emit.expressions import expression, remainder, tight
from prism.lang.emit.merge import ArriveExpect, Step
from prism.lang.emit.rings import Rings, advance, arrive_late
from prism.lang.intrinsics import asynchronous
from prism.lang.tree import Element, Expr, Var
from prism.lang.tree import plan as plans
from prism.lang.tree.bind import operands_of
from prism.lang.types import FLOAT16, Fragment, Pointer
from prism.lang.types.perspective import WARP, Level, Perspective


def step(context: Context, s: Step) -> list[str]:
    """Return the lines of a barrier or an operation."""
    if isinstance(s, plans.Barrier):
        round_ = ", round the loop" if s.loop else ""
        return [f"{_barrier(context, s)}{context.remark(_pair(s.first, s.second) + round_)}"]
    test = where(context, s.path)
    if test is None:
        return []
    lines = operation(context, s)
    if not lines:
        return []
    first, *more = lines
    note = context.remark(why(s))
    if not test:
        return [first + note, *more]
    return [f"if ({test}) {{{note}", *(f"{INDENT}{line}" for line in (first, *more)), "}"]


def where(context: Context, path: plans.Path) -> str | None:
    """Return the test for the threads that a path admits: empty where all here do, None where none does."""
    index, tests = "threadIdx.x", []
    for part in path:
        if isinstance(part, Perspective):
            index = remainder(index, part.size) if part.level == Level.THREAD else index
            continue
        _, first, size = part
        known = (context.role or (0, context.threads)) if index == "threadIdx.x" else None
        if known is not None and (known[1] <= first or first + size <= known[0]):
            return None
        if known is None or not (first <= known[0] and known[1] <= first + size):
            tests += [f"{tight(index)} >= {first}u"] if first else []
            tests.append(f"{tight(index)} < {first + size}u")
        index = f"{tight(index)} - {first}u" if first else index
    return " && ".join(tests)


def operation(context: Context, op: plans.Op | ArriveExpect) -> list[str]:
    """Return the lines of an operation."""
    rings = context.rings
    match op:
        case plans.Wait():
            parity = rings.phase(op.barrier.cycle, op.lap)
            blocks, stores = bool(op.barrier.blocks), op.barrier.stores
            return [asynchronous.mbarrier_wait(rings.at(op.barrier), parity, cluster=blocks, stores=stores)]
        case plans.Arrive():
            return arrive(rings, op, context.alone)
        case plans.Expect():
            return [asynchronous.mbarrier_expect(rings.at(op.barrier), _bytes(context, op))]
        case ArriveExpect():
            return [f"px_arrive_expect({rings.at(op.barrier)}, {op.bytes}u);"]
        case plans.Advance():
            return advance(rings, op.cycle)
        case plans.ProxyFence():
            return [asynchronous.proxy_fence(op.space)]
        case plans.Commit():
            return [_COMMITS[op.kind]()]
        case plans.WaitGroup():
            return wait_group(context, op)
        case plans.WgmmaFence():
            return [*keep(context), asynchronous.wgmma_fence()]
        case _:
            assert_never(op)


_COMMITS = {
    "cp_async": asynchronous.cp_async_commit,
    "bulk": asynchronous.bulk_commit,
    "wgmma": asynchronous.wgmma_commit,
}


def wait_group(context: Context, op: plans.WaitGroup) -> list[str]:
    """A wait for groups; accumulators are the program's again only behind it."""
    match op.kind:
        case "cp_async":
            return [asynchronous.cp_async_wait(op.pending)]
        case "bulk":
            return [asynchronous.bulk_wait(op.pending, op.read)]
        case _:
            return [asynchronous.wgmma_wait(op.pending), *keep(context)]


def arrive(rings: Rings, op: plans.Arrive, alone: bool = False) -> list[str]:
    """An arrival: of each thread, of one a warp, or when the thread's copies have come in; here, or in other blocks too.

    `alone`: it is the one that runs this text for its warp.
    """
    at, warp = rings.at(op.barrier, late=op.delay > 0), "_warp" if op.every == WARP and not alone else ""
    if op.copies:
        call = asynchronous.mbarrier_arrive_copies(at)
    elif op.barrier.blocks:
        name = (
            "px_release_blocks"
            if op.barrier.stores
            else "px_arrive_relative"
            if op.barrier.relative
            else "px_arrive_blocks"
        )
        call = f"{name}{warp}<{op.barrier.blocks:#x}u>({at});"
    else:
        call = f"px_arrive_warp({at});" if warp else asynchronous.mbarrier_arrive(at)
    return arrive_late(rings, op, call) if op.delay else [call]


def keep(context: Context) -> list[str]:
    """Return the lines that keep the compiler from moving accesses to accumulators over what follows or came before."""
    lines = []
    for symbol in context.fragments:
        type_ = symbol.type
        # Several of its elements are in a register, and no wgmma adds to it.
        in_words = isinstance(type_, Fragment) and type_.element.bytes < 4 and type_.element != FLOAT16
        lines.append(asynchronous.keep(context.scope.names[symbol], in_words))
    return lines


def _bytes(context: Context, op: plans.Expect) -> str:
    """Return the bytes of a load, by its operand `n` where they are not constant."""
    if op.bytes is not None:
        return f"{op.bytes}u"
    count: Expr | None = None
    size = 0
    for parameter, argument in operands_of(op.copy):
        if parameter.name == "n":
            count = argument
        if isinstance(argument, Element | Var) and isinstance(argument.symbol.type, Pointer):
            size = argument.symbol.type.element.bytes
    if count is None or not size:
        raise InternalError(f"the bytes of `{op.copy.intrinsic.name}` are not known")
    return f"(unsigned int){tight(expression(context.scope, count))} * {size}u"


# -- comments ---------------------------------------------------------------------------------------------------------


def _pair(first: plans.Access, second: plans.Access) -> str:
    return f"{_access(first)} before {_access(second)}"


def _access(access: plans.Access) -> str:
    return f"{access.kind} {comment(access.text)} (line {access.span.line})"


def why(op: plans.Op | ArriveExpect) -> str:
    """Say which accesses force an operation, or what it tells others."""
    match op:
        case plans.Wait() | plans.ProxyFence() | plans.WaitGroup():
            return _pair(op.first, op.second)
        case plans.Arrive():
            late = f", {op.delay} round{'s' * (op.delay > 1)} late" if op.delay and not op.drain else ""
            return f"{op.barrier.name}{late}{', of the rounds left' if op.drain else ''}"
        case plans.Expect() | ArriveExpect():
            return f"{op.barrier.name}: bytes to come"
        case plans.Advance():
            fills = "fills of " if op.cycle.leads is not None else ""
            return f"the next round of {fills}{', '.join(ring.name for ring in op.cycle.rings)}"
        case plans.Commit() | plans.WgmmaFence():
            return "the wgmmas" if isinstance(op, plans.WgmmaFence) else f"a group of {_KINDS[op.kind]}"
        case _:
            assert_never(op)


_KINDS = {"cp_async": "copies", "bulk": "stores", "wgmma": "wgmmas"}


# -- barriers ---------------------------------------------------------------------------------------------------------


def _barrier(context: Context, b: plans.Barrier) -> str:
    size = b.unit.size
    match b.kind:
        case "block" if context.role is not None or context.parted:
            return 'asm volatile("bar.sync 0;" ::: "memory");'  # the warps of other roles meet it in their own text
        case "block":
            return "__syncthreads();"
        case "cluster":
            return asynchronous.cluster_meet()
        case "grid":
            return f"px_grid_barrier({GRID_WORD});"
        case "warp" if size % WARP == 0 or b.unit.level != Level.THREAD:
            return "__syncwarp();"
        case "warp":
            return f"__syncwarp({(1 << size) - 1:#x}u << (threadIdx.x % {WARP}u / {size}u * {size}u));"
        case "named":
            number = f"{context.named[size]}u + threadIdx.x / {size}u"
            return f'asm volatile("bar.sync %0, %1;" :: "r"({number}), "n"({size}) : "memory");'
        case _:
            raise ValueError(f"no such barrier: {b.kind}")
