"""A whole program in C++: helpers, shared memory, device functions (callees first), the kernel."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass

from prism.lang.emit.expressions import Position, Scope, collect, uses_vectors
from prism.lang.emit.halves import short_pieces
from prism.lang.emit.names import comment, declarator, element_cuda, symbol_names, type_cuda
from prism.lang.emit.statements import Context, body, indented
from prism.lang.flow import pointer_change
from prism.lang.intrinsics.memory import VECTOR
from prism.lang.perspective import THREAD
from prism.lang.place import alignment, calls, statements, subexpressions
from prism.lang.plan import Program
from prism.lang.tree import (
    Assert,
    Body,
    Count,
    Declare,
    For,
    Function,
    Group,
    Id,
    Print,
    SharedDeclare,
    Split,
    Stmt,
    Symbol,
    expressions,
)
from prism.lang.types import Array, Pointer, Type

HARDWARE_BARRIERS = 16
MOST_THREADS = 1024
BASE_ALIGNMENT = 128
POSITION = ("const unsigned int px_t", "const unsigned int px_b", "const unsigned int px_s")


@dataclass(frozen=True, slots=True)
class Emitted:
    """CUDA C++, with what a launch needs: the kernel's name, its dynamic shared memory, its parameters in order."""

    source: str
    name: str
    shared_bytes: int
    parameters: tuple[tuple[str, Type], ...]


def emit(program: Program, *, comments: bool = True) -> Emitted:
    """Return a program as stand-alone CUDA C++: no includes, one `extern "C"` kernel, the same text every time."""
    entry = program.entry
    named = allocate_named(program)
    positioned = frozenset(f for f in program.functions if needs_position(f))
    taken = frozenset(f.identifier for f in program.functions)
    pieces: dict[str, None] = {}
    if any(uses_vectors(s.type) for f in program.functions for s in _symbols(f)):
        collect(pieces, VECTOR)
    functions: list[str] = []
    for f in program.functions:
        scope = Scope(symbol_names(f, taken), (_position(f),), program.layouts[f], _frame(f), positioned, pieces)
        context = Context(scope, program.plans[f].before(), named, comments, itertools.count(1), f.name)
        head = _head(f, scope, comments)
        functions.append("\n".join([*head, *indented([*_known_size(f), *body(context, f.body)]), "}"]))
    shared = program.layouts[entry].bytes
    if shared:
        align = max(BASE_ALIGNMENT, alignment(entry))
        functions.insert(0, f"extern __shared__ __align__({align}) unsigned char px_shared[];")
    parameters = tuple((p.name, p.type) for p in entry.parameters)
    pieces = {**dict.fromkeys(short_pieces("".join([*pieces, *functions]))), **pieces}
    return Emitted("\n\n".join([*pieces, *functions]) + "\n", entry.identifier, shared, parameters)


def allocate_named(program: Program) -> Mapping[int, int]:
    """Return, for each size of unit that meets at a named barrier, the hardware's number of its first unit's barrier.

    Every unit of a block needs a number of its own; 0 is `__syncthreads`. Raises ValueError when 16 are not enough.
    """
    sizes = sorted({b.unit.size for plan in program.plans.values() for b in plan.barriers if b.kind == "named"})
    threads = most_threads(program.entry)
    bases: dict[int, int] = {}
    free = 1
    for size in sizes:
        bases[size] = free
        free += max(1, threads // size)
    if free > HARDWARE_BARRIERS:
        wants = ", ".join(f"{max(1, threads // size)} for units of {size} threads" for size in sizes)
        raise ValueError(
            f"a block of up to {threads} threads needs {free - 1} named barriers ({wants}), and the hardware has "
            f"{HARDWARE_BARRIERS - 1}; state the block's size with @attr('__launch_bounds__(...)'), or use larger units"
        )
    return bases


def most_threads(entry: Function) -> int:
    """Return how many threads a block of the kernel has at most: by its launch bounds, else the hardware's limit."""
    for text in entry.attributes:
        if found := re.search(r"__launch_bounds__\(\s*(\d+)", text):
            return int(found[1])
    return MOST_THREADS


def _known_size(function: Function) -> list[str]:
    """Return the line that tells the compiler a kernel's number of threads, where its bounds leave only one."""
    if function.kind != "global" or function.bound.thread != most_threads(function):
        return []
    return [f"__builtin_assume(blockDim.x == {function.bound.thread}u);"]


def needs_position(function: Function) -> bool:
    """Whether a device function takes a position and a frame: it or a callee asks for an index or shared memory."""
    return any(_asks(s) for s in statements(function.body))


def _asks(statement: Stmt) -> bool:
    if isinstance(statement, (Group, Split, SharedDeclare)):
        return True
    if isinstance(statement, (Assert, Print)) and statement.code != THREAD:
        return True
    if any(needs_position(call.function) for call in calls(statement)):
        return True
    return any(isinstance(part, (Id, Count)) for e in expressions(statement) for part in subexpressions(e))


def _symbols(function: Function) -> list[Symbol]:
    body: Body = function.body
    declared = [s.symbol for s in statements(body) if isinstance(s, (Declare, SharedDeclare, For))]
    return [*function.parameters, *declared]


def _position(function: Function) -> Position:
    if function.kind == "global":
        return Position(function.bound.code, "threadIdx.x", "blockIdx.x")
    return Position(function.bound.code, "px_t", "px_b")


def _frame(function: Function) -> str:
    return "" if function.kind == "global" else "px_s"


def _head(function: Function, scope: Scope, comments: bool) -> list[str]:
    """Return the lines that open a function: a comment that names it, attributes, parameters."""
    kernel = function.kind == "global"
    parameters = [_parameter(function, p, scope.names[p]) for p in function.parameters]
    if not kernel and function in scope.positioned:
        parameters += POSITION
    result = type_cuda(function.result)
    attributes = " ".join((*function.attributes, *_cluster(function)))
    before = 'extern "C" __global__ void' if kernel else f"static __device__ __forceinline__ {result}"
    head = " ".join(filter(None, (before, attributes if kernel else "", function.identifier)))
    given = ", ".join(f"{name} = {value}" for name, value in function.template.items() if _plain(value))
    title = f"// {comment(function.name)}{f' for {comment(given)}' if given else ''}"
    return [*([title] if comments else []), f"{head}({', '.join(parameters)}) {{"]


def _cluster(function: Function) -> tuple[str, ...]:
    """Return the attribute that makes clusters of a kernel's blocks, where its bound asks for them."""
    size = function.bound.block
    return (f"__cluster_dims__({size}, 1, 1)",) if size is not None and size > 1 else ()


def _plain(value: object) -> bool:
    """Whether a template's value prints the same in every process."""
    return isinstance(value, (bool, int, float, str)) or type(value).__module__ == "prism.lang.types"


def _repoints(function: Function) -> bool:
    """Whether a function assigns a pointer that it was given: then C++'s promise that none overlap cannot be made."""
    changes = (pointer_change(s) for s in statements(function.body))
    return any(change is not None and change[0].parameter for change in changes)


def _parameter(function: Function, symbol: Symbol, name: str) -> str:
    if isinstance(symbol.type, Array):
        shape = "".join(f"[{n}]" for n in symbol.type.shape)
        return f"{'const ' if symbol.const else ''}{element_cuda(symbol.type.element)} (&{name}){shape}"
    aliased = any(symbol.name in names for names in function.may_alias)
    if isinstance(symbol.type, Pointer) and function.kind == "global" and not aliased and not _repoints(function):
        return f"{type_cuda(symbol.type)} __restrict__ {name}"
    return declarator(symbol.type, name)
