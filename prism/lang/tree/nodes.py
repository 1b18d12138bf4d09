"""What the nodes of the typed tree are made of: names in force, the bases of expressions and statements, functions.

The kinds of expressions stand in expr.py, those of statements in stmt.py. A call names a function, which has statements, which
have expressions: here all of these are known by their bases alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from prism.lang.diagnostics import Span
from prism.lang.keep.bases import Frozen, Plain, node
from prism.lang.types import Type
from prism.lang.types.perspective import Bound, Perspective

__all__ = ["Body", "Expr", "Function", "Inlined", "Stmt", "Symbol", "View"]


class View(Frozen):
    """What a partition's or claim's name means: `new[i]` is `source[index]`, `index` an expression over `params`.

    `offset` is evaluated once, on entry, into a symbol of its own (perspective: the unit's); a lambda has none. A view of a
    ring (`source.type.ring`) names the copy of the present visit; `in_flight`: how many visits later asynchronous readers of
    the copy are waited for. `ahead`, made by skew.py only: it names the copy that is filled ahead. `alias`: a parameter of a
    function that is compiled in here; it is the source itself, by another name.
    """

    source: Symbol
    unit: Perspective
    params: tuple[Symbol, ...]
    index: tuple[Expr, ...]
    offset: tuple[Symbol, Expr] | None = None
    races: str = "check"
    in_flight: int = 0
    ahead: bool = False
    alias: bool = False


class Symbol(Frozen):
    """A name in force: a parameter, a local, a shared object, a loop's index, a view."""

    name: str
    type: Type
    perspective: Perspective
    span: Span
    view: View | None = None
    parameter: bool = False
    const: bool = False
    default: bool | int | float | None = None
    """What a parameter is where a call leaves it out."""
    axes: tuple[tuple[Symbol, Symbol], ...] = ()
    """Of an array, for each axis its extent and its stride, in elements: parameters that a launch computes."""
    along: tuple[str, int, int] | None = None
    """Of the number of `blocks`, or of `threads`, along an axis of a launch: which axis, and of how many."""

    def itself(self) -> Symbol:
        """Return what an alias is another name of; any other symbol as it is."""
        symbol = self
        while symbol.view is not None and symbol.view.alias:
            symbol = symbol.view.source
        return symbol

    def root(self) -> Symbol:
        """Return the object behind a chain of views."""
        symbol = self
        while symbol.view is not None:
            symbol = symbol.view.source
        return symbol


@node
class Expr(Plain):
    """What all expressions have."""

    type: Type
    perspective: Perspective
    span: Span


@node
class Stmt(Plain):
    """What all statements have.

    `inlined`: the function at the top of whose text it stands, where that is compiled into another one; None of all others.
    """

    span: Span
    inlined: Inlined | None = None


Body = tuple[Stmt, ...]


class Inlined(Frozen):
    """A device function whose text is compiled into another one, and the call that it stands for.

    `within`: the function in whose text that call stands, where that is compiled in too.
    """

    name: str
    bound: Bound
    parameters: tuple[Symbol, ...]
    template: Mapping[str, object]
    span: Span
    call: Span
    within: Inlined | None


@node
class Function(Plain):
    """A checked function, all template arguments bound. `identifier` is unique in a program and safe in C++."""

    name: str
    identifier: str
    kind: str
    bound: Bound
    parameters: tuple[Symbol, ...]
    result: Type
    result_perspective: Perspective | None
    body: Body
    shared_limit: int | None
    attributes: tuple[str, ...]
    may_alias: tuple[frozenset[str], ...]
    pure: bool
    template: Mapping[str, object]
    file: str
    span: Span
    trusts: frozenset[str] = frozenset()
    """Const pointer parameters that are loaded once for several threads: nobody may write that memory meanwhile."""
    cooperative: bool = False
    """Whether all blocks of the grid run at once, and can meet at a barrier."""
    demands: tuple[tuple[int, Span], ...] = ()
    """Of how many threads the block that runs it must be, and where that is said."""
    inlined: Inlined | None = None
    """What it is, where it is shown as if it stood alone, and is compiled into another one."""
    launch_bounds: tuple[int, ...] = ()
    """The numbers of its `__launch_bounds__`: threads of a block, blocks of a multiprocessor; none where it has none."""
    axes: int = 0
    """Of how many axes its blocks, and the threads of each, are numbered; 0 where it asks for no index along one."""
    notes: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)
    """What was found out about it (once.py), by what was asked."""

    @property
    def given(self) -> tuple[Symbol, ...]:
        """The parameters that a launch is given: not the extents and strides of arrays, and its own, which come behind them."""
        hidden = 2 * sum(len(p.axes) for p in self.parameters) + 2 * self.axes
        return self.parameters[: len(self.parameters) - hidden] if hidden else self.parameters
