"""Programs whose numbers are attributes of a record of constants: those of other kinds, with fields and properties for numbers.

Of the generators of `roles`, `loops` and `async` a program is taken, and whole numbers in its kernel, in its signature and its
bound become `CUT.c0`, a field, or `CUT.c1`, a property. The program by hand is the oracle: it has the same text in CUDA, or is
refused as well.
"""

from __future__ import annotations

import ast
import random
from dataclasses import replace

import prism
from prism.lang.diagnostics import CompileError
from prism.lang.emit import emit
from prism.lang.pipeline import lower
from tests.generated import edge_async, edge_loops, edge_roles
from tests.generated.edges_verify import FAILED, Edge, Outcome, judged
from tests.generated.programs import loaded

SOURCES = (edge_roles, edge_loops, edge_async)


class Writer(ast.NodeTransformer):
    """Puts attributes in the place of some numbers, and keeps what they stand for."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.share = rng.uniform(0.2, 1.0)
        self.numbers: list[int] = []

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if type(node.value) is not int or self.rng.random() > self.share:
            return node
        self.numbers.append(node.value)
        return ast.parse(f"CUT.c{len(self.numbers) - 1}", mode="eval").body

    def record(self) -> str:
        """Return the text of the record: fields, whose defaults are its values, and behind them properties."""
        fields, properties = ["first: int = 7"], []
        for k, number in enumerate(self.numbers):
            if self.rng.random() < 0.5:
                fields.append(f"c{k}: int = {number}")
            else:
                properties.append(f"c{k} = property(lambda self: self.first + {number - 7})")
        lines = "\n".join(f"    {line}" for line in (*fields, *properties))
        return f"from typing import NamedTuple\n\n\nclass Cut(NamedTuple):\n{lines}\n\n\n"


def program(seed: int) -> Edge:
    """Return the program of a seed."""
    return pair(seed)[1]


def pair(seed: int) -> tuple[Edge, Edge]:
    """Return a program as it is written by hand, and with a record."""
    rng = random.Random(seed)
    edge: Edge = rng.choice(SOURCES).program(seed)
    tree, writer = ast.parse(edge.text), Writer(rng)
    kernel = next(s for s in tree.body if isinstance(s, ast.FunctionDef) and s.name == "kernel")
    writer.visit(kernel)
    declared = ast.parse("template(CUT=constexpr(Cut, default=Cut()))", mode="eval").body
    kernel.decorator_list[1:1] = [declared]
    text = ast.unparse(ast.fix_missing_locations(tree))
    return edge, replace(edge, text=f"{writer.record()}{text}\n")


def verify(seed: int) -> Outcome:
    """Return what becomes of the program of a seed: as of the one by hand."""
    plain, edge = pair(seed)
    found = judged(edge, seed)
    one, other = cuda_of(plain), cuda_of(edge)
    if found.kind != FAILED and one != other:
        return Outcome(FAILED, f"by hand:\n{one}\nwith a record:\n{other}")
    return found


def cuda_of(edge: Edge) -> str:
    """Return what a program becomes; the code of its error where it is refused."""
    with loaded(edge.head + edge.text) as names:
        try:
            return emit(lower(prism.check(names["kernel"])), comments=False).source
        except CompileError as error:
            return error.code
