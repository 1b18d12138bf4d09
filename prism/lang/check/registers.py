"""`set_registers`: once for a warpgroup, at the kernel's beginning, and together no more than the block was launched with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

from prism.lang import tree
from prism.lang.check.env import Env, fail, why_here
from prism.lang.diagnostics import Fields, Label, Span
from prism.lang.errors import raw as errors
from prism.lang.intrinsics import set_registers
from prism.lang.intrinsics.wgmma import launched_registers
from prism.lang.keep.bases import Value
from prism.lang.types.perspective import WARPGROUP, Bound, Level


class Position(Value):
    """Who runs a statement: units of `size` threads that start at these threads of the block. `where`: why perhaps not once."""

    starts: tuple[int, ...]
    size: int
    where: str = ""


class Request(Value):
    """One call: the warpgroups of the block that run it, and the registers that each of their threads asks for."""

    warpgroups: tuple[int, ...]
    count: int
    span: Span


def check_code(env: Env, span: Span) -> None:
    """Whole warpgroups of a block run it: `setmaxnreg` is one instruction of a warpgroup."""
    code = env.code
    if code.level != Level.THREAD or code.size % WARPGROUP:
        fail(errors.RegistersCode(span=span, code_perspective=code, labels=why_here(env)))


def check_registers(kind: str, launch_bounds: tuple[int, ...], bound: Bound, body: tree.Body, name: Span) -> None:
    """Check all calls of one function."""
    threads = bound.thread or 1
    requests = tuple(_requests(body, Position((0,), threads, "" if kind == "global" else "in a device function")))
    if not requests:
        return
    most, blocks = launch_bounds[:2] if len(launch_bounds) > 1 else (0, 0)
    if threads % WARPGROUP or not threads <= most < 2 * threads:
        fail(errors.RegistersBlock(span=requests[0].span, threads=threads, labels=(Label(name, "this kernel"),)))
    each = launched_registers(threads * blocks)
    held: dict[int, Request] = {}
    for request in requests:
        for warpgroup in request.warpgroups:
            if warpgroup in held:
                labels = (Label(held[warpgroup].span, "the first time"),)
                fail(errors.RegistersTwice(span=request.span, warpgroup=warpgroup, labels=labels))
            held[warpgroup] = request
    count = threads // WARPGROUP
    asked = [held[warpgroup].count if warpgroup in held else each for warpgroup in range(count)]
    if sum(asked) > each * count:
        text = " + ".join(f"{len(list(run))} x {n}" for n, run in groupby(asked))
        largest = max(requests, key=lambda request: request.count)
        others = tuple(Label(r.span, f"{len(r.warpgroups)} x {r.count}") for r in requests if r is not largest)
        facts: Fields = {"asked": sum(asked), "given": each * count, "over": sum(asked) - each * count}
        facts |= {"threads": threads, "each": each, "warpgroups": count}
        fail(errors.RegistersSum(span=largest.span, sum=text, labels=others, **facts))


def _requests(body: tree.Body, at: Position) -> Iterator[Request]:
    """Yield the calls of a statement list, in program order; fail at one that may be run again, or not at all."""
    for statement in body:
        match statement:
            case tree.Evaluate(value=tree.Apply() as apply) if apply.intrinsic is set_registers:
                yield _request(apply, at)
            case tree.Split(level=Level.THREAD):
                for arm in statement.arms:
                    starts = tuple(start + arm.first for start in at.starts)
                    yield from _requests(arm.body, replace(at, starts=starts, size=arm.size))
            case _:
                for inner in tree.children(statement):
                    yield from _requests(inner, _position_inside(statement, at))


def _position_inside(statement: tree.Stmt, at: Position) -> Position:
    """Return who runs the statements inside one that is no split."""
    match statement:
        case tree.Group(unit=unit) if unit.level == Level.THREAD:
            starts = tuple(start + k for start in at.starts for k in range(0, at.size, unit.size))
            return replace(at, starts=starts, size=unit.size)
        case tree.For() | tree.While():
            return replace(at, where=at.where or "in a loop")
        case tree.If():
            return replace(at, where=at.where or "under a condition")
        case _:
            return at


def _request(apply: tree.Apply, at: Position) -> Request:
    """Return one call and the warpgroups that run it."""
    if at.where:
        fail(errors.RegistersPlace(span=apply.span, where=at.where))
    count = apply.statics["n"]
    assert isinstance(count, int)
    first = (start // WARPGROUP for start in at.starts)
    return Request(tuple(w + k for w in first for k in range(max(1, at.size // WARPGROUP))), count, apply.span)
