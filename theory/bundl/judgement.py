"""What the typing rules are written in: contexts, the code's perspective, tables of rules, and their dispatch.

    G |-^pi_d e : t     `Checker.expr(g, pi, d, e)` returns t; d is the perspective at which the value must be uniform
    G |-^pi_m s         `Checker.stmt(g, code, s)` returns the least m, so `s` types at every m from there up

The printed calculus has no d: its rules call `expr` with d = pi throughout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from prism.lang.types.perspective import Level, Perspective
from theory.bundl import syntax
from theory.bundl.perspectives import Align, Order, Shape, at


class IllTyped(Exception):
    """No derivation: `rule` is the one that would have had to apply, `why` the premise that fails."""

    def __init__(self, rule: str, why: str, term: syntax.Node | None = None) -> None:
        super().__init__(rule, why)
        self.rule, self.why, self.term = rule, why, term

    def __str__(self) -> str:
        return f"{self.rule}: {self.why}"


class Entry(NamedTuple):
    """`x :^at type`; for an array in flight, `outer` are the names that outlive its scope."""

    at: Perspective
    type: syntax.Type
    outer: frozenset[str] = frozenset()


class Context:
    """G, immutable. A hidden name is still taken, but has no entry."""

    __slots__ = ("_entries",)

    def __init__(self, entries: Mapping[str, Entry | None] | None = None) -> None:
        self._entries = dict(entries or {})

    def get(self, name: str) -> Entry | None:
        """Return the entry of `name`, or None where there is none to use."""
        return self._entries.get(name)

    def is_bound(self, name: str) -> bool:
        """Whether `name` is bound, hidden or not."""
        return name in self._entries

    def names(self) -> Iterator[tuple[str, Entry]]:
        """Yield what can be used."""
        return ((name, entry) for name, entry in self._entries.items() if entry is not None)

    def bind(self, name: str, pi: Perspective, type_: syntax.Type, outer: frozenset[str] = frozenset()) -> Context:
        """Return `G, name :^pi type`."""
        made = Context.__new__(Context)
        made._entries = {**self._entries, name: Entry(pi, type_, outer)}
        return made

    def hide(self, name: str | None) -> Context:
        """Return G without the use of `name`."""
        if name is None:
            return self
        made = Context.__new__(Context)
        made._entries = {**self._entries, name: None}
        return made

    def functions(self) -> Context:
        """Return the part of G that a function's body sees."""
        return Context({name: entry for name, entry in self.names() if isinstance(entry.type, syntax.Fun)})

    def __repr__(self) -> str:
        return f"Context({', '.join(f'{name} :{entry.at} {entry.type}' for name, entry in self.names())})"


class Code(NamedTuple):
    """The code's perspective, and what is known of where its unit starts: at a multiple of `base` (0: at 0)."""

    pi: Perspective
    base: int = 0


ExprRule = Callable[["Checker", Context, Perspective, Perspective, Any], syntax.Type]
StmtRule = Callable[["Checker", Context, Code, Any], int]


@dataclass(frozen=True)
class Rules:
    """A version of the type system: its order, its alignment, and one function for each rule's name."""

    name: str
    order: Order
    align: Align
    expressions: Mapping[str, ExprRule]
    statements: Mapping[str, StmtRule]
    program: Callable[[Rules, syntax.Program, Shape, set[str] | None], int]

    def swap(self, other: Rules, *names: str) -> Rules:
        """Return these rules with `names` taken from `other`; "Order", "Align" and "Program" are names too."""
        made = replace(self, name=f"{self.name}[{', '.join(names)} of {other.name}]")
        for name in names:
            if name in other.expressions:
                made = replace(made, expressions={**made.expressions, name: other.expressions[name]})
            elif name in other.statements:
                made = replace(made, statements={**made.statements, name: other.statements[name]})
            elif name in ("Order", "Align", "Program"):
                made = replace(made, **{name.lower(): getattr(other, name.lower())})
            else:
                raise KeyError(name)
        return made


RULE_OF = {
    "Var": "T-Var", "Int": "T-Int", "Float": "T-Float", "Bool": "T-Bool", "Id": "T-Partition-Id", "Index": "T-Arr-Access",
    "Bop": "T-Bop", "Cmp": "T-Cmp", "Call": "T-Function-Call", "Split": "T-Split", "Destruct": "T-Destruct",
    "Group": "T-Group", "Assign": "T-Assn", "Init": "T-Sync-Init", "Dec": "T-Sync-Dec", "Wait": "T-Sync-Wait",
    "Skip": "T-Skip", "Free": "T-Free", "Declare": "T-Decl", "Store": "T-Arr-Assn", "If": "T-If", "While": "T-While",
    "Seq": "T-Seq", "Alloc": "T-Alloc", "Partition": "T-Partition", "Claim": "T-Claim", "Lower": "T-Lower",
    "AsyncPartition": "T-Async-Partition", "AsyncMemcpy": "T-Async-Memcpy", "Memcpy": "T-Memcpy",
    "Leave": "T-Leave", "Arm": "T-Arm", "Scope": "T-Scope", "Frame": "T-Frame",
}  # fmt: skip


class Checker:
    """A version of the rules, at one shape. `used` collects the rules that took part, if a set is given."""

    __slots__ = ("align", "order", "rules", "shape", "used")

    def __init__(self, rules: Rules, shape: Shape, used: set[str] | None = None) -> None:
        self.rules, self.shape, self.used = rules, shape, used
        self.order, self.align = rules.order, rules.align

    def leq(self, narrow: Perspective, broad: Perspective) -> bool:
        """Whether `narrow <= broad`."""
        return narrow is broad or self.order(narrow, broad, self.shape)

    def expr(self, g: Context, pi: Perspective, d: Perspective, e: syntax.Expr) -> syntax.Type:
        """Return t with `G |-^pi_d e : t`."""
        name = RULE_OF[type(e).__name__]
        if type(e) is syntax.Index and self.kind(g, e.array) is syntax.Kind.SHARED:
            name = "T-Arr-Access-Shared"
        rule = self.rules.expressions.get(name)
        if rule is None:
            raise IllTyped(name, "no such rule", e)
        type_ = rule(self, g, pi, d, e)
        if self.used is not None:
            self.used.add(name)
        return type_

    def stmt(self, g: Context, code: Code, s: syntax.Stmt) -> int:
        """Return the least m with `G |-^pi_m s`."""
        name = RULE_OF[type(s).__name__]
        if (type(s) is syntax.Store and self.kind(g, s.array) is syntax.Kind.SHARED) or (
            type(s) is syntax.Alloc and s.kind is syntax.Kind.SHARED
        ):
            name += "-Shared"
        rule = self.rules.statements.get(name)
        if rule is None:
            raise IllTyped(name, "no such rule", s)
        need = rule(self, g, code, s)
        if self.used is not None:
            self.used.add(name)
        return need

    def kind(self, g: Context, e: syntax.Expr) -> syntax.Kind | None:
        """Return where the array that `e` names lives."""
        entry = g.get(e.name) if isinstance(e, syntax.Var) else None
        return entry.type.kind if entry is not None and isinstance(entry.type, syntax.ArrayOf) else None

    def array(self, rule: str, g: Context, e: syntax.Expr | str) -> tuple[Perspective, syntax.ArrayOf]:
        """Return (q, t[]^l) with `e :^q t[]^l`; only a variable has such a type."""
        name = e if isinstance(e, str) else e.name if isinstance(e, syntax.Var) else None
        entry = g.get(name) if name is not None else None
        if entry is None or not isinstance(entry.type, syntax.ArrayOf):
            raise IllTyped(rule, f"{name or 'the expression'} is not an array in scope")
        return entry.at, entry.type

    def demand(self, rule: str, g: Context, pi: Perspective, d: Perspective, e: syntax.Expr, want: syntax.Type) -> None:
        """Check `G |-^pi_d e : want`."""
        have = self.expr(g, pi, d, e)
        if have != want:
            raise IllTyped(rule, f"expected {want}, have {have}", e)

    def whole(self, pi: Perspective) -> int:
        """Return the base that every unit of `pi` is known to have: 0 if there is but one, else a multiple of its size."""
        limit = self.shape.threads if pi.level == Level.THREAD else self.shape.blocks
        return 0 if pi.size == limit or pi.level == Level.GRID else pi.size


def premise(holds: bool, rule: str, why: str | Callable[[], str], term: syntax.Node | None = None) -> None:
    """Require a rule's side condition. A function says why not: a search asks for much that holds, and words take long."""
    if not holds:
        raise IllTyped(rule, why if isinstance(why, str) else why(), term)


GRID_CODE = Code(at(Level.GRID), 0)
