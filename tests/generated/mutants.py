"""Mutants: a legal program with one fault, and what the compiler said of it.

python -m tests.generated.fuzz --mutants 1000       mutants of as many generated programs, and of all that people wrote
"""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import prism
import prism.lang
from prism.lang import tree
from prism.lang.check import check
from prism.lang.diagnostics import CompileError
from prism.lang.surface import Kernel
from tests.generated import faults_edits, faults_memory, faults_words
from tests.generated.faults import OPERATORS, Fault
from tests.generated.programs import LANGUAGE, loaded, program
from tests.generated.sites import Site, sites
from tests.generated.written import written

assert faults_edits and faults_memory and faults_words, "their operators are in the table"
WHOLE = ("race", "call-smem", "grid-sync")
"""Codes that later stages than the checker report."""


@dataclass(frozen=True)
class Mutant:
    """A changed text of a file, the function to check with its template arguments, and what must be said of it."""

    operator: str
    text: str
    function: str
    template: Mapping[str, Any]
    file: str
    fault: Fault

    def verdict(self) -> str:
        """Return the empty string where the code and line are right, else what came instead."""
        try:
            with loaded(self.text, LANGUAGE) as names:
                kernel, template = names[self.function], renewed(self.template, names, self.file)
                check(kernel, template)
                if self.fault.code in WHOLE:
                    prism.check(kernel, template)
        except CompileError as error:
            said = sorted({(fault.code, fault.span.line) for fault in error.errors})
            return "" if said == [(self.fault.code, self.fault.at)] else f"said {said}\n{error}"
        except Exception as error:  # no program makes the compiler fail in any other way
            return f"{type(error).__name__}: {error}"
        return "accepted"

    def report(self) -> str:
        """Return what is wrong, with the lines around the fault."""
        lines = self.text.splitlines()
        around = range(max(1, self.fault.at - 12), min(len(lines), self.fault.at + 3) + 1)
        shown = "\n".join(f"{'>' if k == self.fault.at else ' '} {k:4} {lines[k - 1]}" for k in around)
        return f"{self.operator} in {self.function}: expected {self.fault.code} on line {self.fault.at}\n{shown}"


def renewed(template: Mapping[str, Any], names: Mapping[str, Any], file: str) -> dict[str, Any]:
    """Return template arguments in which functions of a file are those of its changed text."""
    own = {k: v for k, v in template.items() if isinstance(v, Kernel) and v.python.__code__.co_filename == file}
    return {**template, **{k: names[v.__name__] for k, v in own.items()}}


@dataclass(frozen=True)
class Fate:
    """What became of a mutant: `wrong` is empty where it was refused as it must be."""

    operator: str
    code: str
    wrong: str


def fates(found: Iterator[Mutant]) -> Iterator[Fate]:
    """Yield what the compiler says of mutants; operators leave out what they know to be legal."""
    for mutant in found:
        verdict = mutant.verdict()
        yield Fate(mutant.operator, mutant.fault.code, f"{mutant.report()}\n{verdict}" if verdict else "")


def mutants_of_program(seed: int, count: int, only: Sequence[str] = ()) -> Iterator[Mutant]:
    """Yield mutants of a generated program."""
    text = program(seed).text
    with loaded(text) as names:
        functions = check(names["kernel"])
    yield from mutants(functions, text, seed, count, only)


def mutants_of_files(
    seed: int, count: int, chunk: int = 0, chunks: int = 1, only: Sequence[str] = ()
) -> Iterator[Mutant]:
    """Yield mutants of each function that people wrote, or of a part of the functions; `seed` decides which."""
    every = [(file, function) for file, functions in written() for function in functions]
    for number, (file, function) in list(enumerate(every))[chunk::chunks]:
        yield from mutants([function], Path(file).read_text(), seed * len(every) + number, count, only)


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
    lines, inner = text.splitlines(), functions_inside(text)
    for site in sites(function):
        if usable(site, lines):
            around = next((part for part in inner if site.line in part), None)
            for fault in OPERATORS[name](site, lines):
                if around is None or not names_around(site, fault, around, lines):
                    yield fault


def functions_inside(text: str) -> list[range]:
    """Return the lines of each function that stands in another one."""
    outer = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef))
    inner = (node for one in outer for node in ast.walk(one) if isinstance(node, ast.FunctionDef) and node is not one)
    return [range(node.lineno, (node.end_lineno or node.lineno) + 1) for node in inner]


def names_around(site: Site, fault: Fault, inner: range, lines: list[str]) -> bool:
    """Whether a fault in a function that stands in another one adds a name from outside of it.

    A site has the names of where the function is called. Where it stands some are others, and none is changed without `nonlocal`.
    """
    before = re.findall(r"\w+", " ".join(lines[fault.first - 1 : fault.last - 1]))
    added = set(re.findall(r"\w+", " ".join(fault.lines))) - set(before)
    return any(name in added and symbol.span.line not in inner for name, symbol in site.names.items())


def mutants(
    functions: Sequence[tree.Function], text: str, seed: int, count: int, names: Sequence[str] = ()
) -> Iterator[Mutant]:
    """Yield so many mutants of the functions of one text: operators in turn, sites at random."""
    chosen = random.Random(seed)
    order = list(names or OPERATORS)
    chosen.shuffle(order)
    made = 0
    for name in order:
        if made >= count:
            return
        possible = [(function, fault) for function in functions for fault in faults(name, function, text)]
        if not possible:
            continue
        function, fault = chosen.choice(possible)
        changed = applied(text, fault)
        if parses(changed):
            made += 1
            yield Mutant(name, changed, function.name, function.template, function.file, fault)


def parses(text: str) -> bool:
    """Whether a text is Python: an expression that the compiler folded no longer stands where its parts do."""
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True
