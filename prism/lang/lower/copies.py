"""Copies of statements in which names mean something else: another variable, another view."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Any

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

    def _changed(self, e: tree.Expr) -> tree.Expr:
        new = {name: self._part(getattr(e, name)) for name in _PARTS.get(type(e), ())}
        return e if all(getattr(e, name) == part for name, part in new.items()) else replace(e, **new)

    def _part(self, part: tree.Symbol | tree.Expr | tuple[tree.Expr, ...]) -> Any:
        if isinstance(part, tree.Symbol):
            return self.symbol(part)
        return tuple(map(self.expression, part)) if isinstance(part, tuple) else self.expression(part)


# What of an expression has names in it.
_PARTS: Mapping[type, tuple[str, ...]] = {
    tree.Var: ("symbol",),
    tree.Unary: ("operand",),
    tree.Cast: ("operand",),
    tree.Binary: ("left", "right"),
    tree.Select: ("condition", "then", "otherwise"),
    tree.Item: ("symbol", "indices"),
    tree.Element: ("symbol", "indices"),
    tree.Component: ("vector", "index"),
    tree.Place: ("symbol", "index"),
    tree.Call: ("arguments",),
    tree.Apply: ("arguments",),
}


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
        case tree.Group() | tree.Batch() | tree.Turns():
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
        case (
            tree.While()
            | tree.For()
            | tree.Group()
            | tree.Partition()
            | tree.Claim()
            | tree.Async()
            | tree.Batch()
            | tree.Turns()
        ):
            return replace(s, body=parts[0])
        case tree.Split():
            return replace(s, arms=tuple(replace(arm, body=part) for arm, part in zip(s.arms, parts, strict=True)))
        case _:
            return s
