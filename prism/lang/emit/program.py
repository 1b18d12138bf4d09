"""A whole program in C++: helpers, shared memory, device functions (callees first), the kernel."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

from prism.lang import tree
from prism.lang.barriers.cluster import ranks_of
from prism.lang.barriers.flow import pointer_change
from prism.lang.check import reuse
from prism.lang.cuda.names import (
    GRID_WORD,
    comment,
    declarator,
    field_names,
    is_laid_anew,
    registers,
    symbol_names,
    type_cuda,
)
from prism.lang.cuda.raw_text import element_of
from prism.lang.diagnostics import CompileError, InternalError
from prism.lang.emit import gathers, turns
from prism.lang.emit.context import Context
from prism.lang.emit.expressions import Position, Scope, collect, uses_vectors
from prism.lang.emit.follow import WAIT, waits
from prism.lang.emit.halves import short_pieces
from prism.lang.emit.held_operands import compiler_needed
from prism.lang.emit.merge import merge_steps
from prism.lang.emit.pieces import TENSOR_MAP, helpers
from prism.lang.emit.restrict import is_restrict, unwritten
from prism.lang.emit.rings import arrays, counters, initialise, rings_of
from prism.lang.emit.rounding import precise
from prism.lang.emit.statements import accumulates, body, indent, is_used, positive
from prism.lang.errors.syntax import TooDeep
from prism.lang.facts.budget import launched_registers, most_threads
from prism.lang.facts.gathers import has_gathers
from prism.lang.intrinsics.asynchronous import cluster_barrier, cluster_begin
from prism.lang.intrinsics.gathers import ROUND
from prism.lang.intrinsics.mailboxes import word_preamble
from prism.lang.intrinsics.memory import VECTOR
from prism.lang.keep.bases import Value
from prism.lang.keep.memo import memoize
from prism.lang.keep.records import is_record_class, spell
from prism.lang.lower.place import alignment
from prism.lang.lower.specialise import has_roles
from prism.lang.tree import Declare, Function, SharedDeclare
from prism.lang.tree.plan import Lowered, Program
from prism.lang.tree.walk import calls, statements, terms
from prism.lang.types import Mailbox, Pointer, TensorMap, Type
from prism.lang.types.perspective import THREAD, WARP
from prism.lang.types.structs import Struct

BASE_ALIGNMENT = 128
WARP_INDEX = "px_warp"
POSITION = ("const unsigned int px_t", "const unsigned int px_b", "const unsigned int px_s")


class Emitted(Value):
    """CUDA C++, with what a launch needs: the kernel's name, its dynamic shared memory, its parameters in order.

    `follows`: on sm_90 and later it waits itself for the kernel before it in its stream, where it needs what that one wrote.
    """

    source: str
    name: str
    shared_bytes: int
    parameters: tuple[tuple[str, Type], ...]
    follows: bool


def emit(lowered: Lowered, *, comments: bool = True) -> Emitted:
    """Return a lowered program as stand-alone CUDA C++: no includes, one `extern "C"` kernel, the same text every time.

    Raises CompileError where its text is nested too deeply.
    """
    try:
        return _emit(lowered, comments)
    except RecursionError:
        entry = lowered.program.entry
        raise CompileError(TooDeep(span=entry.span, name=entry.name)) from None


def _emit(lowered: Lowered, comments: bool) -> Emitted:
    program, named = lowered.program, lowered.named
    entry = program.entry
    positioned = frozenset(f for f in program.functions if needs_position(f))
    by_warp = multiplies(program)
    taken = frozenset(f.identifier for f in program.functions)
    pieces: dict[str, None] = dict.fromkeys(definitions(program))
    if any(map(has_vectors, program.functions)):
        collect(pieces, VECTOR)
    if any(isinstance(p.type, TensorMap) for f in program.functions for p in f.parameters):
        collect(pieces, TENSOR_MAP)
    functions: list[str] = []
    apart, never_written = precise(program.functions), unwritten(program.functions)
    # What a device function's text depends on besides itself, its plan and its layout.
    around = (
        taken, tuple(named.items()), entry.bound.block, launched_registers(entry), most_threads(entry), comments,
        has_roles(entry),
    )  # fmt: skip
    for f in program.functions:
        memo = reuse.notes(f) if f.kind == "device" else {}
        key = ("text", program.plans[f], program.layouts[f], around, apart[f], never_written[f])
        if key not in memo:
            own: dict[str, None] = {}
            names = symbol_names(f, taken)
            ranks = frozenset(names[one] for one in ranks_of(f, entry.bound.block or 1))
            scope = Scope(
                names, (_position(f, by_warp),), program.layouts[f], _frame(f), positioned, own,
                precise=apart[f], ranks=ranks, unwritten=never_written[f],
            )  # fmt: skip
            memo[key] = _text(lowered, f, scope, comments), own
        text, own = memo[key]
        functions.append(text)
        pieces.update(own)
    for word in (p.type.element for f in program.functions for p in f.parameters if isinstance(p.type, Pointer)):
        if isinstance(word, Mailbox) and word.element.bytes > 8:  # of which the type has a name, though nobody uses it
            collect(pieces, word_preamble(word.element))
    layout = program.layouts[entry]
    if layout.room:
        functions.insert(0, gathers.constants(layout, program.plans[entry].late))
    shared = layout.bytes
    if any("px_shared" in text for text in functions):  # a ring that nothing uses is named, and takes no room
        align = max(BASE_ALIGNMENT, alignment(entry))
        functions.insert(0, f"extern __shared__ __align__({align}) unsigned char px_shared[];")
    parameters = tuple((p.name, p.type) for p in entry.parameters)
    before = [*compiler_needed(program), *short_pieces("".join([*pieces, *functions])), *helpers(*pieces, *functions)]
    pieces = {**dict.fromkeys(before), **pieces}
    return Emitted("\n\n".join([*pieces, *functions]) + "\n", entry.identifier, shared, parameters, _follows(entry))


def _text(lowered: Lowered, f: tree.Function, scope: Scope, comments: bool) -> str:
    """Return a function's text; `scope.pieces` has the helpers that it needs then."""
    context = _context(lowered, f, scope, comments)
    lines = body(context, f.body)
    plan = lowered.program.plans[f]
    first, then = gathers.start(f, plan.late)
    end = [*([WAIT] if context.waits is not None and not context.waits.before else []), *context.last]
    end += gathers.finish() if plan.late else []
    ends = bool(f.body) and isinstance(f.body[-1], tree.Return)
    lines = [
        *first,
        *_start(f, context, plan.begins),
        *then,
        *_warp(context, lines),
        *lines,
        *([] if ends else end),
    ]
    return "\n".join([*_head(f, scope, comments), *indent(lines), "}"])


def _context(lowered: Lowered, function: tree.Function, scope: Scope, comments: bool) -> Context:
    """Return what rendering a function's body needs."""
    program = lowered.program
    plan, entry = program.plans[function], program.entry
    if function is not entry and plan.cycles:
        raise InternalError(f"`{function.name}` has rings: only kernels can")
    rings = rings_of(plan, program.layouts[function])
    scope = replace(
        scope,
        completes={copy: rings.at(barrier) for copy, barrier in plan.completes.items()},
        cluster=entry.bound.block or 1,
        registers=launched_registers(entry),
    )
    before, after = merge_steps(plan, function.body)
    last: tuple[str, ...] = ()
    if plan.ends:
        last = (cluster_barrier() + ("  // no block reaches into this one any more" if comments else ""),)
    return Context(
        scope, before, after, rings, lowered.named, comments, itertools.count(1), function.name,
        fragments=tuple(p for p in function.parameters if accumulates(p.type)), threads=most_threads(entry), last=last,
        waits=waits(function) if _follows(function) else None, positive=positive(function.body), turns=lowered.turns,
        parted=function is not entry and has_roles(entry),
    )  # fmt: skip


def _start(function: tree.Function, context: Context, meets: bool) -> list[str]:
    """Return what a function does before its body: a kernel makes its mbarriers, and its threads meet, or the cluster's."""
    if function.kind != "global":
        return []
    rings, lines = context.rings, [*arrays(context.rings), *initialise(context.rings)]
    if function.bound.thread == most_threads(function):  # its bounds leave only one number of threads
        lines.insert(0, f"__builtin_assume(blockDim.x == {function.bound.thread}u);")
    if meets:
        met = cluster_barrier() if rings.barriers else cluster_begin()
        lines.append(met + context.remark("the blocks of the cluster have begun"))
    elif rings.barriers:
        lines.append("__syncthreads();" + context.remark("the mbarriers are made"))
    if not any(isinstance(s, tree.Specialise) for s in statements(function.body)):
        lines += [*counters(rings, function.body), *turns.starts(context, function.body)]
    return lines


def _follows(function: tree.Function) -> bool:
    """Whether a kernel may begin before the one before it in its stream has ended. Blocks of a cooperative one begin together."""
    return function.kind == "global" and not function.cooperative


@memoize
def needs_position(function: tree.Function) -> bool:
    """Whether a device function takes a position and a frame: it or a callee asks for an index or shared memory."""
    return any(_asks(s) for s in statements(function.body))


def _asks(statement: tree.Stmt) -> bool:
    if isinstance(statement, (tree.Group, tree.Split, tree.SharedDeclare)):
        return True
    if isinstance(statement, tree.Assume | tree.Distinct):  # nothing of it is emitted
        return False
    if isinstance(statement, (tree.Assert, tree.Print)) and statement.code != THREAD:
        return True
    if any(needs_position(call.function) for call in calls(statement)):
        return True
    return any(isinstance(part, tree.Id | tree.Count) for part in terms(statement))


@memoize
def has_vectors(function: tree.Function) -> bool:
    """Whether a function has vectors among its names."""
    body: tree.Body = function.body
    declared = [s.symbol for s in statements(body) if isinstance(s, (tree.Declare, tree.SharedDeclare, tree.For))]
    return any(uses_vectors(symbol.type) for symbol in (*function.parameters, *declared))


def multiplies(program: Program) -> bool:
    """Whether a program has wgmmas: the compiler should see that their operands' addresses are the same for a whole warp."""
    return any(map(_multiplies, program.functions))


@memoize
def _multiplies(function: tree.Function) -> bool:
    applied = (part for s in statements(function.body) for part in terms(s))
    return any(isinstance(part, tree.Apply) and part.intrinsic.asynchronous == "wgmma" for part in applied)


def _warp(context: Context, lines: list[str]) -> list[str]:
    """Return the line that gives a thread its warp's index, where that is used."""
    if not context.scope.here.warp or not is_used(WARP_INDEX, lines):
        return []
    value = f"__shfl_sync(0xffffffffu, threadIdx.x / {WARP}u, 0)"
    return [f"const unsigned int {WARP_INDEX} = {value};{context.remark('the same for the whole warp')}"]


def _position(function: tree.Function, by_warp: bool) -> Position:
    if function.kind == "global":
        return Position(function.bound.code, "threadIdx.x", "blockIdx.x", WARP_INDEX if by_warp else "")
    return Position(function.bound.code, "px_t", "px_b")


def _frame(function: tree.Function) -> str:
    return "" if function.kind == "global" else "px_s"


def _head(function: tree.Function, scope: Scope, comments: bool) -> list[str]:
    """Return the lines that open a function: a comment that names it, attributes, parameters."""
    kernel = function.kind == "global"
    parameters = [_parameter(function, p, scope.names[p]) for p in function.parameters]
    if not kernel and function in scope.positioned:
        parameters += POSITION
    if function.cooperative:
        parameters.append(f"unsigned int* {GRID_WORD}")
    if not kernel and has_gathers(function):
        parameters.append(f"unsigned int& {ROUND}")
    result = type_cuda(function.result)
    attributes = " ".join((*function.attributes, *_cluster(function)))
    before = 'extern "C" __global__ void' if kernel else f"static __device__ __forceinline__ {result}"
    head = " ".join(filter(None, (before, attributes if kernel else "", function.identifier)))
    given = ", ".join(f"{name} = {spell(value)}" for name, value in function.template.items() if _plain(value))
    title = f"// {comment(function.name)}{f' for {comment(given)}' if given else ''}"
    return [*([title] if comments else []), f"{head}({', '.join(parameters)}) {{"]


def _cluster(function: tree.Function) -> tuple[str, ...]:
    """Return the attribute that makes clusters of a kernel's blocks, where its bound asks for them."""
    size = function.bound.block
    return (f"__cluster_dims__({size}, 1, 1)",) if size is not None and size > 1 else ()


def _plain(value: object) -> bool:
    """Whether a template's value prints the same in every process."""
    plain = isinstance(value, (bool, int, float, str)) or type(value).__module__ == "prism.lang.types"
    return plain or is_record_class(type(value))


def _repoints(function: tree.Function) -> bool:
    """Whether a function assigns a pointer that it was given: then C++'s promise that none overlap cannot be made."""
    changes = (pointer_change(s) for s in statements(function.body))
    return any(change is not None and change[0].parameter for change in changes)


def _parameter(function: tree.Function, symbol: tree.Symbol, name: str) -> str:
    if isinstance(symbol.type, TensorMap):
        return (
            f"const __grid_constant__ px_tensor_map {name}"
            if function.kind == "global"
            else f"const px_tensor_map& {name}"
        )
    if is_laid_anew(symbol.type):
        return declarator(symbol.type, f"&{name}")
    if shape := registers(symbol.type):
        extents = "".join(f"[{n}]" for n in shape)
        return f"{'const ' if symbol.const else ''}{type_cuda(symbol.type)} (&{name}){extents}"
    if is_restrict(function, symbol) and not _repoints(function):
        return f"{type_cuda(symbol.type)} __restrict__ {name}"
    return declarator(symbol.type, name)


def definitions(program: Program) -> Iterator[str]:
    """Yield the definitions of a program's structs, in the order in which it first has one."""
    for struct in dict.fromkeys(struct for function in program.functions for struct in _structs(function)):
        fields = " ".join(
            f"{scalar.cuda} {name};" for name, (_, scalar) in zip(field_names(struct), struct.fields, strict=True)
        )
        yield f"struct __align__({struct.align}) {struct.cuda} {{ {fields} }};"


@memoize
def _structs(function: Function) -> tuple[Struct, ...]:
    types: list[object] = [symbol.type for symbol in function.parameters]
    types.append(function.result)
    for statement in statements(function.body):
        if isinstance(statement, Declare | SharedDeclare):
            types.append(statement.symbol.type)
        types += [part.type for part in terms(statement)]
    found = (element_of(type_) for type_ in dict.fromkeys(types))
    return tuple(type_ for type_ in found if isinstance(type_, Struct))
