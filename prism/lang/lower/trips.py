"""A loop's trips to come, as expressions: whether there is one so many trips later, and its index.

Nothing is computed that lies beyond the loop's last index: `stop - k > n`, not `k + n < stop`. Differences of signed indices that
may be far apart are taken without sign.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from prism.lang.keep.bases import Value
from prism.lang.tree import Binary, Body, Cast, Const, Declare, Expr, For, If, Scalar, Stmt, Symbol, Var
from prism.lang.types import BOOL, UINT32, UINT64
from prism.lang.types.perspective import meet


def name_value(e: Expr, name: str, changed: Set[Symbol]) -> tuple[Expr, tuple[Declare, ...]]:
    """Return an expression that stands for a value wherever it is used, and the declaration that this needs."""
    if isinstance(e, Const) or (isinstance(e, Var) and e.symbol not in changed):
        return e, ()
    symbol = Symbol(name, e.type, e.perspective, e.span)
    return Var(symbol=symbol, type=e.type, perspective=e.perspective, span=e.span), (
        Declare(symbol=symbol, value=e, span=e.span),
    )


class Trips(Value):
    """The trips of a loop with a constant step, whose bounds are constants or variables that do not change."""

    loop: For

    @property
    def step(self) -> int:
        """From one index to the next."""
        assert isinstance(self.loop.step, Const)
        return int(self.loop.step.value)

    @property
    def type(self) -> Scalar:
        """The index's type."""
        assert isinstance(self.loop.symbol.type, Scalar)
        return self.loop.symbol.type

    def later(self, by: int) -> Expr:
        """Return the index so many trips later."""
        op, distance = ("+", by * self.step) if self.step > 0 else ("-", -by * self.step)
        return self._binary(op, self._var(self.loop.symbol), self._const(distance))

    def has_later(self, by: int) -> Expr:
        """Return whether there is a trip so many trips later."""
        index, stop, distance = self._var(self.loop.symbol), self.loop.stop, by * self.step
        # k < stop - n, folded: a constant beyond the type's range is brought to its end, where no index is beyond it.
        if isinstance(stop, Const):
            return self._before(index, self._const(self._clamp(int(stop.value) - distance)))
        return self._is_far_from_end(index, stop, self._const(abs(distance)))

    def first(self, index: Symbol, by: int, fills: Body) -> tuple[For, Stmt]:
        """Return a loop of `by` trips that does `fills` for the first indices, as many as there are; and its last statement."""
        start, stop = self.loop.start, self.loop.stop
        # for k' in range(0, 64, 32): if k' < stop: fill(k')     where start and step are constants: nothing to compute
        # for c in range(2): if start < stop and stop - start > 32 * c: k' = start + 32 * c; fill(k')     else
        # `start < stop` comes first: only then is the difference one that cannot wrap round.
        end = int(start.value) + by * self.step if isinstance(start, Const) else None
        if end is not None and end == self._clamp(end):
            room = self._value(stop) - (end - self.step) if isinstance(stop, Const) else 0
            sure = room > 0 if self.step > 0 else room < 0
            guarded = fills if sure else (self._if(self._before(self._var(index), stop), fills),)
            return self._for(index, start, self._const(end), self.loop.step, guarded), guarded[-1]
        number = replace(index, name=f"{index.name}_count")
        distance = self._binary("*", self._var(number), self._const(abs(self.step)))
        op = "+" if self.step > 0 else "-"
        declared = Declare(symbol=index, value=self._binary(op, start, distance), span=self.loop.span)
        some, enough = self._before(start, stop), self._is_far_from_end(start, stop, distance)
        there = Binary(op="and", left=some, right=enough, type=BOOL, perspective=meet(some.perspective, enough.perspective),
                       span=self.loop.span)  # fmt: skip
        branch = self._if(there, (declared, *fills))
        return self._for(number, self._const(0), self._const(by), self._const(1), (branch,)), branch

    # -- expressions --------------------------------------------------------------------------------------------------

    def _before(self, index: Expr, stop: Expr) -> Expr:
        """Whether an index comes before the loop's end."""
        return self._compare("<" if self.step > 0 else ">", index, stop)

    def _is_far_from_end(self, index: Expr, stop: Expr, distance: Expr) -> Expr:
        """Whether an index that comes before the end is further from it than `distance`."""
        one, two = (stop, index) if self.step > 0 else (index, stop)
        start = self.loop.start
        # Both are on one side of 0, or without sign: then the difference fits the type. -2**31 and 2**31 - 1 are 2**32 - 1 apart.
        near = self.type.kind == "uint" or (self.step > 0 and isinstance(start, Const) and int(start.value) >= 0)
        if not near:
            one, two, distance = (self._as_unsigned(e) for e in (one, two, distance))
        difference = Binary(op="-", left=one, right=two, type=one.type, perspective=meet(one.perspective, two.perspective),
                            span=self.loop.span)  # fmt: skip
        return self._compare(">", difference, distance)

    def _as_unsigned(self, e: Expr) -> Expr:
        type_ = UINT64 if self.type.bits == 64 else UINT32
        if isinstance(e, Const):
            return replace(e, type=type_)
        return Cast(operand=e, type=type_, perspective=e.perspective, span=e.span)

    def _compare(self, op: str, left: Expr, right: Expr) -> Expr:
        perspective = meet(left.perspective, right.perspective)
        return Binary(op=op, left=left, right=right, type=BOOL, perspective=perspective, span=self.loop.span)

    def _binary(self, op: str, left: Expr, right: Expr) -> Expr:
        perspective = meet(left.perspective, right.perspective)
        return Binary(op=op, left=left, right=right, type=self.type, perspective=perspective, span=self.loop.span)

    def _var(self, symbol: Symbol) -> Expr:
        return Var(symbol=symbol, type=symbol.type, perspective=symbol.perspective, span=self.loop.span)

    def _const(self, value: int) -> Const:
        return Const(value=value, type=self.type, span=self.loop.span)

    def _value(self, e: Expr) -> int:
        assert isinstance(e, Const)
        value: int = int(e.value)
        return value

    def _clamp(self, value: int) -> int:
        """Return the nearest value of the index's type."""
        bits = self.type.bits
        least, most = (0, (1 << bits) - 1) if self.type.kind == "uint" else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
        return min(max(value, least), most)

    # -- statements ---------------------------------------------------------------------------------------------------

    def _if(self, condition: Expr, then: Body) -> Stmt:
        return If(condition=condition, then=then, otherwise=(), span=self.loop.span)

    def _for(self, symbol: Symbol, start: Expr, stop: Expr, step: Expr, body: Body) -> For:
        return For(symbol=symbol, start=start, stop=stop, step=step, body=body, unroll=True, span=self.loop.span)
