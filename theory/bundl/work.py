"""What the step rules are written in: the left and the right of one turnstile, and what a rule that fails says.

    eta, sigma, Sigma, t, b, p, Psi, Phi |-^pi_m s ~> s' -|_m' eta', sigma', Sigma', Psi', Phi'

A rule is `rule(w, s, pi, p) -> s'`. `Work` holds the rest: it has the left side's memories when a rule starts and the right
side's when it returns. Expressions are `rule(w, e, pi, p, d) -> v`, with d the target's perspective.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from prism.lang.types.perspective import Perspective
from theory.bundl.perspectives import Align, Order, Shape, Unit, offset, unit
from theory.bundl.syntax import Expr, Kind, Stmt
from theory.bundl.values import Array, Bound, Memory, Value


class Stuck(Exception):
    """No rule applies: `rule` is the one whose premise fails."""

    def __init__(self, rule: str, why: str) -> None:
        super().__init__(rule, why)
        self.rule, self.why = rule, why

    def __str__(self) -> str:
        return f"{self.rule}: {self.why}"


class OutOfBounds(Stuck):
    """An index outside of its array, which the theorems assume away."""


StepRule = Callable[["Work", Any, Perspective, int], Stmt]
EvalRule = Callable[["Work", Any, Perspective, int, Perspective], Value]


@dataclass(frozen=True)
class Steps:
    """A version of the semantics: its order, its alignment, and one function for each family of rules.

    `fence(psi, body)` is what partition, claim and lower step to: the body between its barriers.
    """

    name: str
    order: Order
    align: Align
    statements: Mapping[str, StepRule]
    expressions: Mapping[str, EvalRule]
    fence: Callable[[str, Stmt], Stmt]

    def swap(self, other: Steps, *names: str) -> Steps:
        """Return these rules with `names` taken from `other`; "Order", "Align" and "Fence" are names too."""
        made = replace(self, name=f"{self.name}[{', '.join(names)} of {other.name}]")
        for name in names:
            if name in other.expressions:
                made = replace(made, expressions={**made.expressions, name: other.expressions[name]})
            elif name in other.statements:
                made = replace(made, statements={**made.statements, name: other.statements[name]})
            elif name in ("Order", "Align", "Fence"):
                made = replace(made, **{name.lower(): getattr(other, name.lower())})
            else:
                raise KeyError(name)
        return made


class Work:
    """One thread's step under way.

    `rule` is the axiom that made the step, `via` the congruences around it (innermost first). `touched`: whether the step
    read or wrote what other threads see. `choices`: how many results the step could have had, `choice` which to make.
    """

    __slots__ = (
        "align", "b", "choice", "choices", "constant", "deferred", "eta", "evals", "fence", "frames", "order", "rule",
        "rules", "shape", "sigma", "sync", "t", "touched", "used", "via", "world",
    )  # fmt: skip
    t: int
    b: int
    eta: Memory
    sigma: Memory
    world: Memory
    sync: Memory
    deferred: Memory
    used: int
    frames: tuple[Memory, ...]
    rule: str
    via: list[str]
    touched: bool
    choice: int
    choices: int

    def __init__(
        self,
        steps: Steps,
        shape: Shape,
        rules: Mapping[type, StepRule],
        evals: Mapping[type, EvalRule],
        constant: frozenset[str],
    ) -> None:
        self.order, self.align, self.fence = steps.order, steps.align, steps.fence
        self.shape, self.rules, self.evals, self.constant = shape, rules, evals, constant

    def step(self, s: Stmt, pi: Perspective, p: int) -> Stmt:
        """Return s' with `s ~> s'`, or raise Stuck."""
        return self.rules[type(s)](self, s, pi, p)

    def value(self, e: Expr, pi: Perspective, p: int, d: Perspective) -> Value:
        """Return v with `eta, sigma, Sigma |-^pi_d e => v`, or raise Stuck."""
        return self.evals[type(e)](self, e, pi, p, d)

    def leq(self, narrow: Perspective, broad: Perspective) -> bool:
        """Whether `narrow <= broad`."""
        return narrow is broad or self.order(narrow, broad, self.shape)

    def unit(self, pi: Perspective, p: int) -> Unit:
        """Return the name of this thread's unit."""
        return unit(pi, p, self.t, self.b)

    def offset(self, pi: Perspective, p: int) -> int:
        """Return this thread's place in its unit."""
        return offset(pi, p, self.t, self.b, self.shape)

    # Names. ----------------------------------------------------------------------------------------------------

    def get(self, rule: str, name: str) -> Bound:
        """get: the binding of `name`, in whichever memory has it."""
        bound = self.eta.get(name)
        if bound is None:
            bound = self.sigma.get(name) or self.world.get(name)
            if bound is None:
                raise Stuck(rule, f"{name} is bound nowhere")
            if name not in self.constant:
                self.touched = True
        assert type(bound) is Bound
        return bound

    def update(self, rule: str, name: str, value: Value) -> None:
        """update: give `name` another value, in whichever memory has it."""
        self.bind_beside(name, name, Bound(self.get(rule, name).at, value))

    def bind_beside(self, beside: str, name: str, bound: Bound) -> None:
        """Bind `name` in the memory that has `beside`."""
        if beside in self.eta:
            self.eta = self.eta.put(name, bound)
            return
        self.touched = True
        if beside in self.sigma:
            self.sigma = self.sigma.put(name, bound)
        else:
            self.world = self.world.put(name, bound)

    # Cells. ----------------------------------------------------------------------------------------------------

    def memory(self, kind: Kind) -> Memory:
        """Return the memory that holds the cells of such arrays."""
        if kind is Kind.LOCAL:
            return self.eta
        self.touched = True
        return self.sigma if kind is Kind.SHARED else self.world

    def set_memory(self, kind: Kind, memory: Memory) -> None:
        """Replace the memory that holds the cells of such arrays."""
        if kind is Kind.LOCAL:
            self.eta = memory
            return
        self.touched = True
        if kind is Kind.SHARED:
            self.sigma = memory
        else:
            self.world = memory

    def cell(self, rule: str, array: Array, index: Value) -> tuple[Any, int]:
        """Return the key of an element, which must be within bounds and there."""
        if type(index) is not int:
            raise Stuck(rule, f"{index!r} is not an index")
        if not 0 <= index < array.length:
            raise OutOfBounds(rule, f"{index} of {array.length}")
        key = (array.place, array.base + array.step * index)
        if key not in self.memory(array.kind):
            if array.view:
                raise OutOfBounds(rule, f"a view reaches cell {key[1]}")
            raise Stuck(rule, f"{array.place[0]} has no cell {key[1]}")
        return key


def array(rule: str, value: Value) -> Array:
    """Require a descriptor."""
    if type(value) is not Array:
        raise Stuck(rule, f"{value!r} is not an array")
    return value
