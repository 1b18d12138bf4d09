"""What a kernel's launch may be: blocks, the threads of a block and of the grid, the registers of a thread."""

from __future__ import annotations

from prism.lang.intrinsics.wgmma import launched_registers as registers_of
from prism.lang.keep.memo import memoize
from prism.lang.tree import Count, Expr, Function, Id, Scalar
from prism.lang.tree.plan import Program
from prism.lang.tree.walk import statements, terms
from prism.lang.types.perspective import Level

MOST_THREADS = 1024


def most_threads(entry: Function) -> int:
    """Return how many threads a block of the kernel has at most: by its launch bounds, else the hardware's limit."""
    return entry.launch_bounds[0] if entry.launch_bounds else MOST_THREADS


def launched_registers(entry: Function) -> int | None:
    """Return how many registers a thread has at the launch, where the launch bounds leave only one number."""
    match entry.launch_bounds:
        case (threads, blocks, *_):
            return registers_of(threads * blocks)
        case _:
            return None


def of_grid(e: Expr) -> bool:
    """Whether an expression is an index or a count of units of threads through all blocks of the grid."""
    return isinstance(e, Id | Count) and e.code.level == Level.GRID and e.unit.level == Level.THREAD


@memoize
def grid_limit(program: Program) -> int | None:
    """Return how many threads, of all blocks together, a launch may have; None: any number.

    `id()` and `count()` are int32, and made of the thread's number in the grid, of 32 bits without a sign. Where they become a
    variable of 64 bits at once they are counted in that.
    """
    narrow = [
        part
        for function in program.functions
        for statement in statements(function.body)
        for part in terms(statement)
        if of_grid(part) and isinstance(part.type, Scalar) and part.type.bits < 64
    ]
    return min(map(_most, narrow), default=None)


def _most(e: Expr) -> int:
    assert isinstance(e, Id | Count)
    if e.unit.size > 1:
        return 2**32 - 1
    return 2**31 if isinstance(e, Id) else 2**31 - 1


MAX_BLOCKS = 2**31 - 1


def shape_fault(title: str, what: str, number: int, multiple: int | None, most: int) -> str | None:
    """Return why a kernel of this title does not take this number of blocks or threads (`what`); None where it does.

    `multiple`: what the kernel requires it to be a multiple of; `most`: the largest there is.
    """
    each = " a block" if what == "threads" else ""
    if not 1 <= number <= most:
        return f"`{title}` takes 1 to {most} {what}{each}, not {number}"
    if multiple is not None and number % multiple != 0:
        return f"`{title}` needs a multiple of {multiple} {what}{each} (its @requires), not {number}"
    return None
