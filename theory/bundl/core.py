"""Programs of the core that `theory/proofs` mechanises, in the form that its extracted checker reads, with the verdict here.

python -m theory.bundl.core [--every 5] [--random 5000] [--seed 0]

A line a program: `(typed BLOCKS THREADS BYTES ((array int) ..) statement function ..)`, or `(untyped ..)`. `--every`: all
programs of up to so many rules; `--random`: generated ones, larger, with functions. Behind each come ill-typed neighbours, one
with another unit somewhere, and one whose statements are a function's.
Values do not matter to a type, so a number is 0 and an operator is any; a view's offset, step and length are one sum. What the
core does not have is left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from random import Random

from prism.lang.types.perspective import Level, Perspective
from theory.bundl import syntax as x
from theory.bundl.every import Root, programs
from theory.bundl.generate import program as generated
from theory.bundl.generate_terms import perspectives_within
from theory.bundl.mutants import change, mutant
from theory.bundl.perspectives import ONE_GRID, Shape, at, dn
from theory.bundl.typing import corrected, well_typed

SHAPES = (Shape(1, 2), Shape(2, 1), Shape(2, 4), Shape(1, 6), Shape(4, 2), Shape(2, 12))
ROOTS = (Root("block", Shape(1, 2)), Root("grid", Shape(1, 2)), Root("grid", Shape(2, 1)), Root("thread", Shape(1, 2)))
WORDS = {x.Base.INT: "int", x.Base.BOOL: "bool"}


class NotCore(Exception):
    """The term has what the core does not have."""


class _Writer:
    """Writes one program: names and allocations as numbers."""

    def __init__(self, shape: Shape, functions: tuple[x.Function, ...]) -> None:
        self.shape, self.numbers, self.sites = shape, dict[str, int](), 0
        self.functions = {function.name: index for index, function in enumerate(functions)}
        self.phases = dict[str, str]()  # of the names in scope that copies are under way into

    def name(self, name: str) -> int:
        return self.numbers.setdefault(name, len(self.numbers))

    def expr(self, e: x.Expr | None) -> str:
        match e:
            case None | x.Int():
                return "0"
            case x.Bool():
                return "true"
            case x.Id():
                return "id"
            case x.Var(name):
                return f"(var {self.name(name)})"
            case x.Index(x.Var(name), index):
                return f"(read {self.name(name)} {self.expr(index)})"
            case x.Bop(_, left, right):
                return f"(bop {self.expr(left)} {self.expr(right)})"
            case x.Cmp(_, left, right):
                return f"(cmp {self.expr(left)} {self.expr(right)})"
            case _:
                raise NotCore

    def view(self, view: x.View | None) -> str:
        if view is None:
            return "0"
        return f"(bop {self.expr(view.offset)} (bop {self.expr(view.step)} {self.expr(view.length)}))"

    def stmt(self, s: x.Stmt, pi: Perspective) -> str:
        """Return a statement's text; `pi`: the code's perspective, or any where it has none."""
        match s:
            case x.Skip():
                return "skip"
            case x.Seq(first, second) | x.If(_, first, second):
                head = f"(if {self.expr(s.test)}" if isinstance(s, x.If) else "(seq"
                return f"{head} {self.stmt(first, pi)} {self.stmt(second, pi)})"
            case x.Split(left, right, first, second):
                _natural(left, right)
                arms = self.stmt(first, at(pi.level, left or 1)), self.stmt(second, at(pi.level, right or 1))
                return f"(split {left} {right} {arms[0]} {arms[1]})"
            case x.Destruct(body):
                return f"(destruct {self.stmt(body, dn(pi, self.shape) or pi)})"
            case x.Group(parts, body):
                _natural(parts)
                return f"(group {parts} {self.stmt(body, at(pi.level, pi.size // (parts or 1) or 1))})"
            case x.While(test, body):
                return f"(while {self.expr(test)} {self.stmt(body, pi)})"
            case _:
                return self.data(s, pi)

    def data(self, s: x.Stmt, pi: Perspective) -> str:
        match s:
            case x.Assign(name, value):
                return f"(assign {self.name(name)} {self.expr(value)})"
            case x.Store(x.Var(name), index, value):
                return f"(store {self.name(name)} {self.expr(index)} {self.expr(value)})"
            case x.Declare(name, type_, q, value, body):
                head = f"(declare {self.name(name)} {_base(type_)} {_unit(q)} {self.expr(value)}"
                return f"{head} {self.stmt(body, pi)})"
            case x.Alloc(name, kind, element, count, body, q):
                _natural(count)
                if q is not None and kind is not x.Kind.LOCAL:
                    raise NotCore  # no form of the core
                where = _unit(q or pi) if kind is x.Kind.LOCAL else kind.value
                self.sites += 1
                head = f"(alloc {self.name(name)} {where} {_base(element)} {count} {self.sites}"
                return f"{head} {self.stmt(body, pi)})"
            case x.Partition(_, source, name, parts, body, view):
                _natural(parts)
                head = f"(partition {self.name(source)} {self.name(name)} {parts} {self.view(view)}"
                return f"{head} {self.stmt(body, pi)})"
            case x.Claim(_, source, name, size, body, arm):
                _natural(size, arm)
                head = f"(claim {self.name(source)} {self.name(name)} {size} {arm}"
                return f"{head} {self.stmt(body, at(pi.level, size or 1))})"
            case x.Call(name, args) if name in self.functions:
                return f"(call {self.functions[name]}{''.join(f' {self.expr(e)}' for e in args)})"
            case x.Lower(_, source, name, body):
                return f"(lower {self.name(source)} {self.name(name)} {self.stmt(body, pi)})"
            case _:
                return self.copies(s, pi)

    def copies(self, s: x.Stmt, pi: Perspective) -> str:
        """The core's copies name no phase: theirs is that of what they copy into."""
        match s:
            case x.Memcpy(target, source):
                return f"(copy {self.name(target)} {self.name(source)})"
            case x.AsyncMemcpy(phi, target, source) if self.phases.get(target, phi) == phi:
                return f"(fetch {self.name(target)} {self.name(source)})"
            case x.AsyncPartition(phi, source, name, body) if phi not in self.phases.values():
                self.phases[name] = phi
                inside = self.stmt(body, pi)
                self.phases.pop(name, None)
                return f"(async {self.name(source)} {self.name(name)} {inside})"
            case _:
                raise NotCore

    def function(self, function: x.Function) -> str:
        _natural(function.budget)
        rows = " ".join(f"({self.name(p.name)} {_unit(p.at)} {_type(p.type)})" for p in function.params)
        return f"(function ({rows}) {_unit(function.at)} {function.budget} {self.stmt(function.body, function.at)})"


def _natural(*numbers: int) -> None:
    if any(n < 0 for n in numbers):
        raise NotCore


def _base(type_: x.Base) -> str:
    if type_ not in WORDS:
        raise NotCore
    return WORDS[type_]


def _type(type_: x.Type) -> str:
    if isinstance(type_, x.ArrayOf):
        return f"({type_.kind.value} {_base(type_.element)})"
    if not isinstance(type_, x.Base):
        raise NotCore
    return _base(type_)


def _unit(q: Perspective) -> str:
    return f"({('thread', 'block', 'grid')[Level(q.level)]} {q.size})"


def text(program: x.Program, shape: Shape) -> str | None:
    """Return a program's line, or None for one that is not of the core."""
    writer = _Writer(shape, program.functions)
    try:
        inputs = " ".join(f"({writer.name(i.name)} {_base(i.element)})" for i in program.inputs)
        body = " ".join((writer.stmt(program.body, ONE_GRID), *map(writer.function, program.functions)))
    except NotCore:
        return None
    verdict = "typed" if well_typed(corrected, program, shape) else "untyped"
    return f"({verdict} {shape.blocks} {shape.threads} {program.budget} ({inputs}) {body})"


def with_odd_unit(program: x.Program, rng: Random) -> x.Program | None:
    """Return the program with a size, or a perspective, that is another one in one place; typed or not."""
    places = [n for n, term in enumerate(x.walk(program.body)) if isinstance(term, _SIZED)]
    if not places:
        return None

    def other(s: x.Node) -> x.Node:
        size = rng.randint(1, 6)
        match s:
            case x.Declare() | x.Alloc():
                return replace(s, at=at(rng.choice(tuple(Level)), size))
            case x.Split():
                return replace(s, left=size, right=rng.randint(0, 4))
            case x.Group() | x.Partition():
                return replace(s, parts=size)
            case x.Claim():
                return replace(s, size=size, arm=rng.randint(0, 3))
            case _:
                return s

    body, _ = change(program.body, rng.choice(places), other)
    return replace(program, body=body)


def with_odd_function(program: x.Program, shape: Shape, rng: Random) -> x.Program | None:
    """Return the program with a function that has another unit, budget or body in one place, or one more; typed or not."""
    if not program.functions:
        q = rng.choice((ONE_GRID, *perspectives_within(ONE_GRID, shape)))
        params = tuple(
            x.Param(given.name, x.ArrayOf(given.element, x.Kind.GLOBAL), rng.choice((ONE_GRID, q)))
            for given in program.inputs
        )
        function = x.Function("f", params, q, program.budget, program.body)
        call = x.Call("f", tuple(x.Var(given.name) for given in program.inputs))
        return replace(program, body=call, functions=(function,))
    place = rng.randrange(len(program.functions))
    function = program.functions[place]
    match rng.randrange(4):
        case 0:
            function = replace(function, at=rng.choice(perspectives_within(ONE_GRID, shape)))
        case 1:
            function = replace(function, budget=max(0, function.budget - 1))
        case 2 if function.params:
            odd = rng.randrange(len(function.params))
            changed = [*function.params]
            changed[odd] = replace(changed[odd], at=rng.choice(perspectives_within(ONE_GRID, shape)))
            function = replace(function, params=tuple(changed))
        case _:
            odd_body = with_odd_unit(replace(program, body=function.body), rng)
            function = function if odd_body is None else replace(function, body=odd_body.body)
    functions = (*program.functions[:place], function, *program.functions[place + 1 :])
    return replace(program, functions=functions)


_SIZED = (x.Declare, x.Alloc, x.Split, x.Group, x.Partition, x.Claim)


def lines(every: int, count: int, seed: int, mutants: int = 2) -> Iterator[str]:
    """Yield the lines of all programs of up to `every` rules, of `count` generated ones, and of neighbours of each."""
    rng = Random(seed)
    small = ((p, root.shape) for root in ROOTS for size in range(1, every + 1) for p in programs(root, size))
    large = ((generated(rng, shape, rng.randint(5, 40)), shape) for shape in (rng.choice(SHAPES) for _ in range(count)))
    for program, shape in (*small, *large):
        others = (mutant(program, shape, rng) for _ in range(mutants))
        odd = with_odd_unit(program, rng)
        function = with_odd_function(program, shape, rng)
        for one in (program, odd, function, *(other[0] for other in others if other is not None)):
            line = None if one is None else text(one, shape)
            if line is not None:
                yield line


def main() -> None:
    """Print the lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=5)
    parser.add_argument("--random", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    for line in lines(given.every, given.random, given.seed):
        print(line)


if __name__ == "__main__":
    main()
