"""Mutants: a legal program with one fault, and what the compiler said of it."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import prism
import prism.lang
from prism.lang import tree
from prism.lang.check import check
from prism.lang.diagnostics import CompileError
from tests.generated import faults_memory
from tests.generated.faults import OPERATORS, Fault
from tests.generated.programs import loaded
from tests.generated.sites import Site, sites

assert faults_memory, "its operators are in the table"
WHOLE = ("race", "call-smem")
"""Codes that later stages than the checker report."""


@dataclass(frozen=True)
class Mutant:
    """A changed text, the function to check with its template arguments, and what must be said of it."""

    operator: str
    text: str
    function: str
    template: Mapping[str, Any]
    fault: Fault

    def verdict(self) -> str:
        """Return the empty string where the code and line are right, else what came instead."""
        try:
            with loaded(self.text, vars(prism.lang)) as names:
                kernel = names[self.function]
                check(kernel, self.template)
                if self.fault.code in WHOLE:
                    prism.check(kernel, self.template)
        except CompileError as error:
            said = sorted({(fault.code, fault.span.line) for fault in error.errors})
            return "" if said == [(self.fault.code, self.fault.at)] else f"said {said}\n{error}"
        return "accepted"

    def report(self) -> str:
        """Return what is wrong, with the lines around the fault."""
        lines = self.text.splitlines()
        around = range(max(1, self.fault.at - 12), min(len(lines), self.fault.at + 3) + 1)
        shown = "\n".join(f"{'>' if k == self.fault.at else ' '} {k:4} {lines[k - 1]}" for k in around)
        return f"{self.operator} in {self.function}: expected {self.fault.code} on line {self.fault.at}\n{shown}"


def applied(text: str, fault: Fault) -> str:
    """Return the text with the change made."""
    lines = text.splitlines()
    return "\n".join([*lines[: fault.first - 1], *fault.lines, *lines[fault.last - 1 :]]) + "\n"


def usable(site: Site, lines: list[str]) -> bool:
    """Whether lines can be put before a site's statement: it begins its line, and is written in the source."""
    line = lines[site.line - 1]
    return not line[: site.statement.span.column].strip() and not line.lstrip().startswith("elif")


def faults(name: str, function: tree.Function, text: str) -> Iterator[Fault]:
    """Yield all faults of one operator in a function."""
    lines = text.splitlines()
    for site in sites(function):
        if usable(site, lines):
            yield from OPERATORS[name](site, lines)


def mutants(
    functions: Sequence[tree.Function], text: str, seed: int, count: int, names: Sequence[str] = ()
) -> Iterator[Mutant]:
    """Yield so many mutants of the functions of one text: operators in turn, sites at random."""
    chosen = random.Random(seed)
    order = list(names or OPERATORS)
    chosen.shuffle(order)
    made = 0
    for name in order:
        possible = [(function, fault) for function in functions for fault in faults(name, function, text)]
        if not possible or made >= count:
            continue
        function, fault = chosen.choice(possible)
        changed = applied(text, fault)
        if parses(changed):
            made += 1
            yield Mutant(name, changed, function.name, function.template, fault)


def parses(text: str) -> bool:
    """Whether a text is Python: an expression that the compiler folded no longer stands where its parts do."""
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def parts_of(statement: tree.Stmt) -> Iterator[tree.Expr]:
    """Yield all expressions that a statement itself evaluates, and their parts."""
    left = list(tree.expressions(statement))
    while left:
        e = left.pop()
        yield e
        left.extend(tree.operands(e))
