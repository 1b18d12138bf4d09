"""Copies of statements in which names mean something else: another variable, another view."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace

from prism.lang import tree
from prism.lang.keep.bases import Frozen


class Renamed(Frozen):
    """What names mean in the copies: `symbols`, to which views that depend on these are added; `meaning` changes views besides.

    `expressions`: expressions that changed, with what became of them.
    """

    symbols: dict[tree.Symbol, tree.Symbol]
    meaning: Callable[[tree.View], tree.View] = lambda view: view
    expressions: dict[tree.Expr, tree.Expr] = field(default_factory=dict)

    def symbol(self, symbol: tree.Symbol) -> tree.Symbol:
        """Return what a name stands for in the copies."""
        if symbol in self.symbols or symbol.view is None:
            return self.symbols.get(symbol, symbol)
        view = symbol.view
        offset = view.offset
        if offset is not None:
            offset = (self.symbol(offset[0]), self.expression(offset[1]))
        source, index = self.symbol(view.source), tuple(map(self.expression, view.index))
        same = source is view.source and index == view.index and (offset is None or offset == view.offset)
        new = self.meaning(view if same else replace(view, source=source, index=index, offset=offset))
        self.symbols[symbol] = symbol if new is view else replace(symbol, view=new)
        return self.symbols[symbol]

    def expression(self, e: tree.Expr) -> tree.Expr:
        """Return an expression's copy; itself where nothing in it changes."""
        if e not in self.expressions:
            self.expressions[e] = self._changed(e)
        return self.expressions[e]

    def _changed(self, e: tree.Expr) -> tree.Expr:  # noqa: C901
        match e:
            case tree.Const() | tree.Id() | tree.Count():
                return e
            case tree.Var(symbol=symbol):
                return e if (new := self.symbol(symbol)) is symbol else replace(e, symbol=new)
            case tree.Unary(operand=operand) | tree.Cast(operand=operand):
                return e if (one := self.expression(operand)) is operand else replace(e, operand=one)
            case tree.Binary():
                left, right = self.expression(e.left), self.expression(e.right)
                return e if left is e.left and right is e.right else replace(e, left=left, right=right)
            case tree.Select():
                parts = tuple(map(self.expression, (e.condition, e.then, e.otherwise)))
                if parts == (e.condition, e.then, e.otherwise):
                    return e
                return replace(e, condition=parts[0], then=parts[1], otherwise=parts[2])
            case tree.Item() | tree.Element():
                new, indices = self.symbol(e.symbol), tuple(map(self.expression, e.indices))
                return e if new is e.symbol and indices == e.indices else replace(e, symbol=new, indices=indices)
            case tree.Component():
                vector, index = self.expression(e.vector), self.expression(e.index)
                return e if vector is e.vector and index is e.index else replace(e, vector=vector, index=index)
            case tree.Place():
                new, index = self.symbol(e.symbol), self.expression(e.index)
                return e if new is e.symbol and index is e.index else replace(e, symbol=new, index=index)
            case tree.Call() | tree.Apply():
                arguments = tuple(map(self.expression, e.arguments))
                return e if arguments == e.arguments else replace(e, arguments=arguments)


def copy_body(body: tree.Body, names: Renamed, copies: list[tuple[tree.Stmt, tree.Stmt]]) -> tree.Body:
    """Return copies of statements; `copies` gets each with what it is a copy of, those inside them too."""
    made = tuple(_copy(s, names, copies) for s in body)
    copies += zip(body, made, strict=True)
    return made


def _copy(s: tree.Stmt, names: Renamed, copies: list[tuple[tree.Stmt, tree.Stmt]]) -> tree.Stmt:  # noqa: C901
    e = names.expression

    def inner(body: tree.Body) -> tree.Body:
        return copy_body(body, names, copies)

    match s:
        case tree.Declare():
            return replace(s, symbol=names.symbol(s.symbol), value=None if s.value is None else e(s.value))
        case tree.Assign():
            return replace(s, target=e(s.target), value=e(s.value))
        case tree.Evaluate():
            return replace(s, value=e(s.value))
        case tree.If():
            return replace(s, condition=e(s.condition), then=inner(s.then), otherwise=inner(s.otherwise))
        case tree.While():
            return replace(s, condition=e(s.condition), body=inner(s.body))
        case tree.For():
            bounds = e(s.start), e(s.stop), e(s.step)
            start, stop, step = bounds
            return replace(s, symbol=names.symbol(s.symbol), start=start, stop=stop, step=step, body=inner(s.body))
        case tree.Group() | tree.Batch():
            return replace(s, body=inner(s.body))
        case tree.Split():
            return replace(s, arms=tuple(replace(arm, body=inner(arm.body)) for arm in s.arms))
        case tree.Partition() | tree.Claim() | tree.Async():
            return replace(s, view=names.symbol(s.view), body=inner(s.body))
        case tree.Assert() | tree.Assume():
            return replace(s, condition=e(s.condition))
        case tree.Print() | tree.Distinct():
            return replace(s, values=tuple(map(e, s.values)))
        case tree.Return():
            return replace(s, value=None if s.value is None else e(s.value))
        case tree.Break() | tree.Continue() | tree.SharedDeclare():
            return replace(s)
        case _:
            raise TypeError(f"no copies of {type(s).__name__}")


def with_parts(s: tree.Stmt, parts: tuple[tree.Body, ...]) -> tree.Stmt:
    """Return a statement with other statement lists inside it."""
    match s:
        case tree.If():
            return replace(s, then=parts[0], otherwise=parts[1])
        case tree.While() | tree.For() | tree.Group() | tree.Partition() | tree.Claim() | tree.Async() | tree.Batch():
            return replace(s, body=parts[0])
        case tree.Split():
            return replace(s, arms=tuple(replace(arm, body=part) for arm, part in zip(s.arms, parts, strict=True)))
        case _:
            return s
