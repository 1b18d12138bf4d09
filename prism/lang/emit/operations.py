"""The plan in C++: barriers, and what rings, asynchronous copies and wgmma need, each with the accesses that force it."""

from __future__ import annotations

from typing import assert_never

from prism.lang.bind import operands_of
from prism.lang.diagnostics import InternalError
from prism.lang.emit import pieces
from prism.lang.emit.context import Context
from prism.lang.emit.expressions import expression, tight
from prism.lang.emit.merge import ArriveExpect, Step
from prism.lang.emit.names import comment
from prism.lang.emit.rings import advance
from prism.lang.perspective import WARP, Level
from prism.lang.plan import (
    Access,
    Advance,
    Arrive,
    Barrier,
    Commit,
    Cycle,
    Expect,
    Op,
    ProxyFence,
    Wait,
    WaitGroup,
    WgmmaFence,
)
from prism.lang.tree import Element, Expr, Var
from prism.lang.types import Fragment, Pointer


def step(context: Context, s: Step) -> list[str]:
    """Return the lines of a barrier or an operation."""
    if isinstance(s, Barrier):
        round_ = ", round the loop" if s.loop else ""
        return [f"{_barrier(context, s)}{context.remark(_pair(s.first, s.second) + round_)}"]
    if isinstance(s, ArriveExpect):
        _helpers(context, pieces.ARRIVE_EXPECT)
        return [f"px_arrive_expect({context.rings.at(s.barrier)}, {s.bytes}u);{_fills(context, s.barrier.cycle)}"]
    return operation(context, s)


def operation(context: Context, op: Op) -> list[str]:  # noqa: C901
    """Return the lines of an operation."""
    match op:
        case Wait():
            _helpers(context, pieces.WAIT)
            cycle = op.barrier.cycle
            call = f"px_wait({context.rings.at(op.barrier)}, {context.rings.phase(cycle, op.lap)});"
            return [call + context.remark(_pair(op.first, op.second))]
        case Arrive():
            return arrive(context, op)
        case Expect():
            _helpers(context, pieces.EXPECT)
            call = f"px_expect({context.rings.at(op.barrier)}, {_bytes(context, op)});"
            return [call + _fills(context, op.barrier.cycle)]
        case Advance():
            first, *more = advance(context.rings, op.cycle)
            return [first + context.remark(f"the next round of {_rings(op.cycle)}"), *more]
        case ProxyFence():
            _helpers(context, pieces.PROXY_FENCE)
            return ["px_proxy_fence();" + context.remark(_pair(op.first, op.second))]
        case Commit():
            _helpers(context, pieces.COMMITS[op.kind])
            return [f"px_commit_{op.kind}();"]
        case WaitGroup():
            kind = "bulk_read" if op.kind == "bulk" and op.read else op.kind
            _helpers(context, pieces.WAITS[kind])
            call = f"px_pending_{kind}<{op.pending}>();" + context.remark(_pair(op.first, op.second))
            return [call, *(hold(context) if op.kind == "wgmma" else [])]
        case WgmmaFence():
            _helpers(context, pieces.WGMMA_FENCE)
            return [*hold(context), "px_wgmma_fence();"]
        case _:
            assert_never(op)


def arrive(context: Context, op: Arrive) -> list[str]:
    """An arrival: of each thread, of one a warp, or when the thread's copies have come in."""
    every = pieces.ARRIVE_WARP if op.every == WARP else pieces.ARRIVE
    _helpers(context, *((pieces.ARRIVE_COPIES,) if op.copies else (pieces.ARRIVE, every)))
    name = "px_arrive_copies" if op.copies else "px_arrive_warp" if op.every == WARP else "px_arrive"
    call = f"{name}({context.rings.at(op.barrier, op.delay)});"
    late = f", {op.delay} visit{'s' * (op.delay > 1)} later" if op.delay else ""
    note = context.remark(f"{op.barrier.name}{late}")
    if op.delay:
        return [f"if ({context.rings.slot(op.barrier.cycle, op.delay)} >= 0) {call}{note}"]
    return [call + note]


def hold(context: Context) -> list[str]:
    """Return the lines that keep the compiler from moving accesses to accumulators over what follows or came before."""
    lines = []
    for symbol in context.fragments:
        assert isinstance(symbol.type, Fragment)
        _helpers(context, pieces.HOLD[symbol.type.element.kind])
        lines.append(f"px_hold({context.scope.names[symbol]});")
    return lines


def _helpers(context: Context, *texts: str) -> None:
    context.scope.pieces.update((text.strip("\n"), None) for text in texts)


def _bytes(context: Context, op: Expect) -> str:
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


def _pair(first: Access, second: Access) -> str:
    return f"{_access(first)} before {_access(second)}"


def _access(access: Access) -> str:
    return f"{access.kind} {comment(access.text)} (line {access.span.line})"


def _rings(cycle: Cycle) -> str:
    return ", ".join(ring.name for ring in cycle.rings)


def _fills(context: Context, cycle: Cycle) -> str:
    return context.remark(f"loads into {_rings(cycle)}")


# -- barriers ---------------------------------------------------------------------------------------------------------


def _barrier(context: Context, b: Barrier) -> str:
    size = b.unit.size
    match b.kind:
        case "block" if context.role is not None:
            return 'asm volatile("bar.sync 0;" ::: "memory");'  # the warps of other roles meet it in their own text
        case "block":
            return "__syncthreads();"
        case "cluster":
            _helpers(context, pieces.CLUSTER)
            return "px_sync_cluster();"
        case "warp" if size % WARP == 0 or b.unit.level != Level.THREAD:
            return "__syncwarp();"
        case "warp":
            return f"__syncwarp({(1 << size) - 1:#x}u << (threadIdx.x % {WARP}u / {size}u * {size}u));"
        case "named":
            number = f"{context.named[size]}u + threadIdx.x / {size}u"
            return f'asm volatile("bar.sync %0, %1;" :: "r"({number}), "n"({size}) : "memory");'
        case _:
            raise ValueError(f"no such barrier: {b.kind}")
