"""What a program needs of the machine: which threads must stay together, and whether anything is asynchronous."""

from __future__ import annotations

from collections.abc import Iterator

from prism.lang.keep.memo import memoize
from prism.lang.tree import Apply, Declare, Expr, Fragment, Specialise, Stmt
from prism.lang.tree.plan import Program
from prism.lang.tree.walk import statements, terms
from prism.lang.types.perspective import WARP, Level


def nodes(program: Program) -> Iterator[Stmt | Expr]:
    """Return all statements and expressions of a program's functions."""
    for function in program.functions:
        for statement in statements(function.body):
            yield statement
            yield from terms(statement)


def smallest(program: Program, threads: int) -> int:
    """Return how many threads run together where threads run apart: what the broadest intrinsic asks for, and a warp at least."""
    size = _broadest(program)
    return threads if size is None else min(size, threads)


@memoize
def _broadest(program: Program) -> int | None:
    """Return how many threads run together, None for all of a block."""
    size = WARP
    for node in nodes(program):
        if isinstance(node, Apply):
            unit = node.intrinsic.requires
            if unit.level != Level.THREAD:
                return None
            size = max(size, unit.size)
        elif isinstance(node, Declare) and isinstance(node.symbol.type, Fragment):
            size = max(size, node.symbol.type.threads)
    return size


@memoize
def uses_proxies(program: Program) -> bool:
    """Whether anything accesses memory through the asynchronous proxy."""
    return any(isinstance(n, Apply) and n.intrinsic.asynchronous in ("load", "bulk", "wgmma") for n in nodes(program))


@memoize
def has_near_fences(program: Program) -> bool:
    """Whether any fence is for the threads of one block."""
    return any(
        isinstance(n, Apply) and n.intrinsic.name == "fence" and n.statics.get("scope") == "block"
        for n in nodes(program)
    )


@memoize
def has_roles(program: Program) -> bool:
    """Whether the program is one that specialise.py made: its roles run apart."""
    return any(isinstance(node, Specialise) for node in nodes(program))


def has_rings(program: Program) -> bool:
    """Whether threads wait for one another at mbarriers."""
    return any(plan.cycles for plan in program.plans.values())
