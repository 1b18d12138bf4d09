"""Programs some of whose shared memory the launch sizes: those of other kinds, with lengths that are made of arguments.

Of a program of another generator the plain shared objects in the kernel's text, of one extent, get a length that each launch
says: an argument, a sum, a number of threads. The program by hand is the oracle: what is right with constant lengths is right
so, under every schedule; what is refused is refused as well.
"""

from __future__ import annotations

import ast
import math
import random
from dataclasses import replace

import numpy as np

from tests.generated import edge_async, edge_indices, edge_loops, edge_pieces, edge_roles, edge_turns
from tests.generated.edges_verify import FAILED, Edge, Outcome, judged

SOURCES = (edge_roles, edge_roles, edge_loops, edge_async, edge_turns, edge_pieces, edge_indices)


class Writer(ast.NodeTransformer):
    """Puts lengths of the launch in the place of constant ones, and keeps what the arguments must be."""

    def __init__(self, rng: random.Random, threads: int) -> None:
        self.rng, self.threads = rng, threads
        self.values: list[int] = []

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AnnAssign:
        match node.annotation:
            case ast.Call(
                func=ast.Name(id="shared"), args=[ast.Subscript(slice=ast.Constant(value=int(n))) as array], keywords=[]
            ) if self.rng.random() < 0.75:
                array.slice = ast.parse(self.length(n), mode="eval").body
        return node

    def length(self, n: int) -> str:
        """Return a text whose value is n in the launch."""
        name, kind = f"sized{len(self.values)}", self.rng.randrange(5)
        value, text = {
            0: (n, name), 1: (n - 3, f"{name} + 3"), 2: (n // 2, f"2 * {name} + {n % 2}"),
            3: (n - self.threads, f"count(thread[1]) + {name}"), 4: (n, f"({name} if {name} > {n // 2} else 1)"),
        }[kind]  # fmt: skip
        self.values.append(value)
        return text


def program(seed: int) -> Edge:
    """Return the program of a seed."""
    return pair(seed)[1]


def pair(seed: int) -> tuple[Edge, Edge]:
    """Return a program as it is written by hand, and with lengths of the launch."""
    rng = random.Random(seed)
    plain: Edge = rng.choice(SOURCES).program(seed)
    threads = math.prod(plain.threads) if isinstance(plain.threads, tuple) else plain.threads
    tree, writer = ast.parse(plain.text), Writer(rng, threads)
    kernel = next(s for s in tree.body if isinstance(s, ast.FunctionDef) and s.name == "kernel")
    writer.visit(kernel)
    more = ", ".join(f"sized{k}: int32 @ grid[1]" for k in range(len(writer.values)))
    declared = ast.parse(f"def f({more}): pass").body[0]
    assert isinstance(declared, ast.FunctionDef)
    kernel.args.args += declared.args.args
    values = [np.int32(value) for value in writer.values]
    text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    head = f"{plain.head}from prism.lang import count\n\n\n"
    return plain, replace(plain, head=head, text=text, inputs=lambda: [*plain.inputs(), *values])


def verify(seed: int) -> Outcome:
    """Return what becomes of the program of a seed: as of the one by hand."""
    plain, edge = pair(seed)
    found, other = judged(edge, seed), judged(plain, seed)
    if "is a tile of a known shape" in found.found:  # a copy of a whole object has a constant number of bytes
        return found
    if found.kind != FAILED and found.named != other.named:
        return Outcome(FAILED, f"by hand {other.named}, and so {found.named}\n{found.found}\n{edge.text}")
    return found
