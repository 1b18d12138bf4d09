"""W5: pointers that are swapped in a loop. The checker refuses to rebind pointers, so these trees are made by hand.

Tests of prism/lang/barriers: pointers.
"""

from __future__ import annotations

from prism.lang import tree as t
from prism.lang.diagnostics import Span
from prism.lang.sync import plan
from prism.lang.types import INT32, VOID, Pointer
from prism.lang.types.perspective import BLOCK, THREAD, Bound

POINTER = Pointer(INT32)


def span(line: int) -> Span:
    return Span("by hand", line, 0, line, 1)


def symbol(name: str, type_: object = POINTER, perspective: object = BLOCK, **more: object) -> t.Symbol:
    return t.Symbol(name, type_, perspective, span(1), **more)  # type: ignore[arg-type]


def var(of: t.Symbol) -> t.Var:
    return t.Var(symbol=of, type=of.type, perspective=of.perspective, span=span(1))


def const(value: int) -> t.Const:
    return t.Const(value=value, type=INT32, span=span(1))


def read(of: t.Symbol, line: int) -> t.Stmt:
    element = t.Element(symbol=of, indices=(const(0),), type=INT32, perspective=THREAD, span=span(line))
    return t.Declare(symbol=symbol("v", INT32, THREAD), value=element, span=span(line))


def write(of: t.Symbol, line: int) -> t.Stmt:
    index = symbol("i", INT32, THREAD)
    id_ = t.Id(unit=THREAD, code=BLOCK, type=INT32, perspective=THREAD, span=span(line))
    offset = symbol("offset", INT32, THREAD)
    total = t.Binary(op="+", left=var(offset), right=var(index), type=INT32, perspective=THREAD, span=span(line))
    view = symbol("mine", POINTER, THREAD, view=t.View(of, THREAD, (index,), (total,), (offset, id_)))
    target = t.Element(symbol=view, indices=(const(0),), type=INT32, perspective=THREAD, span=span(line))
    store = t.Assign(target=target, value=const(1), span=span(line))
    group = t.Group(unit=THREAD, code=BLOCK, body=(store,), span=span(line))
    return t.Partition(view=view, code=BLOCK, body=(group,), span=span(line))


def point(to: t.Symbol, of: t.Symbol, line: int) -> t.Stmt:
    return t.Assign(target=var(to), value=var(of), span=span(line))


def function(parameters: tuple[t.Symbol, ...], body: t.Body) -> t.Function:
    return t.Function(
        name="f", identifier="f", kind="device", bound=Bound(None, 1, 64), parameters=parameters, result=VOID,
        result_perspective=None, body=body, shared_limit=None, attributes=(), may_alias=(), pure=False, template={},
        file="by hand", span=span(1),
    )  # fmt: skip


def lines(swap: bool) -> list[tuple[int, bool]]:
    x, y, saved = symbol("x", parameter=True), symbol("y", parameter=True), symbol("saved")
    body = [read(x, 3), write(y, 4)]
    if swap:
        body += [t.Declare(symbol=saved, value=var(x), span=span(5)), point(x, y, 6), point(y, saved, 7)]
    n = symbol("n", INT32, BLOCK, parameter=True)
    k = symbol("k", INT32, BLOCK)
    loop = t.For(symbol=k, start=const(0), stop=var(n), step=const(1), body=tuple(body), span=span(2))
    made = function((x, y, n), (loop,))
    return [(barrier.before.span.line, barrier.loop) for barrier in plan([made])[made].barriers]


def test_w5_a_swap_takes_one_barrier_a_trip():
    assert lines(swap=True) == [(3, True)]


def test_without_the_swap_the_two_are_apart():
    assert lines(swap=False) == []
