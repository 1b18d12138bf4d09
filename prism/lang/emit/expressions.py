"""Expressions in C++. Signed 32- and 64-bit arithmetic is C++'s own: it wraps for unsigned types only."""

from __future__ import annotations

import functools
import re
import typing
from collections.abc import Mapping
from dataclasses import field, replace
from typing import assert_never

from prism.lang import tree
from prism.lang.barriers.cluster import blocks_of
from prism.lang.cuda.names import GRID_WORD, field_names, is_copy, literal, type_cuda
from prism.lang.emit.rounding import operator, round_operation
from prism.lang.facts.gathers import has_gathers
from prism.lang.intrinsics.asynchronous import map_text, rank_text
from prism.lang.intrinsics.gathers import ROUND
from prism.lang.keep.bases import Value
from prism.lang.tree.bind import binding_of, operands_of
from prism.lang.tree.plan import Layout
from prism.lang.types import FLOAT32, SCALARS, UINT16, Array, Fragment, Pointer, Scalar, TensorMap, Vector
from prism.lang.types.perspective import WARP, Level, Perspective
from prism.lang.types.structs import Struct
from prism.lang.types.tiles import offset_text, start_text


class Position(Value):
    """Where a thread stands: C++ expressions for its index and its block's inside the current unit of `code`.

    At a perspective of blocks, `thread` counts inside the block. `warp`, if known, is the index of the thread's warp there: the
    same for all of its threads as the compiler sees it too, so that what is computed from it is done once a warp.
    """

    code: Perspective
    thread: str
    block: str
    warp: str = ""

    def index_in_group(self, size: int) -> str:
        """Return the warp's index inside a group of so many threads."""
        return remainder(self.warp, size // WARP) if self.warp and size % WARP == 0 else ""

    def index_in_arm(self, first: int, size: int) -> str:
        """Return the warp's index inside an arm."""
        if not self.warp or first % WARP or size % WARP:
            return ""
        return f"{tight(self.warp)} - {first // WARP}u" if first else self.warp


class Scope(Value):
    """What rendering an expression needs: names, the positions in force (innermost last), the frame of shared memory.

    `shared` is the C++ expression of the frame's start, or empty for 0. `positioned` are the functions that take a
    position and a frame. `pieces` collects helper texts, each once. `completes`: the address of the mbarrier of each bulk or
    tensor load. `cluster`: the number of blocks in a cluster. `registers`: how many a thread has at the launch. `precise`: the
    operations that are each rounded by themselves. `ranks`: names of numbers that are this block's own in its cluster.
    `unwritten`: parameters whose memory nobody writes while the kernel runs.
    """

    names: Mapping[tree.Symbol, str]
    positions: tuple[Position, ...]
    layout: Layout
    shared: str
    positioned: frozenset[tree.Function]
    pieces: dict[str, None]
    bound: Mapping[tree.Symbol, str] = field(default_factory=dict)
    completes: Mapping[tree.Apply, str] = field(default_factory=dict)
    cluster: int = 1
    registers: int | None = None
    precise: frozenset[tree.Expr] = frozenset()
    ranks: frozenset[str] = frozenset()
    unwritten: frozenset[tree.Symbol] = frozenset()

    @property
    def here(self) -> Position:
        """The innermost position."""
        return self.positions[-1]

    def at(self, position: Position) -> Scope:
        """Return the scope inside a group or an arm."""
        return replace(self, positions=(*self.positions, position))

    def position_of(self, code: Perspective) -> Position:
        """Return the position for code at `code`: a view's index may be written further out than where it is used."""
        return next((p for p in reversed(self.positions) if p.code == code), self.here)

    def frame(self, offset: int) -> str:
        """Return the C++ expression of a place in the frame."""
        return f"{self.shared} + {offset}u" if self.shared and offset else self.shared or f"{offset}u"


@functools.lru_cache(maxsize=4096)
def atomic(text: str) -> bool:
    """Whether C++ text binds tighter than any operator: a name, a literal, a call, a subscript, all in parentheses."""
    if re.fullmatch(r"[\w.]+", text):
        return True
    depth, last = 0, len(text) - 1
    for k, c in enumerate(text):
        depth += (c in "([{") - (c in ")]}")
        outside = depth == 0 and c not in ")]}"
        if outside and not (c.isalnum() or c in "_."):
            return False
        if depth == 0 and c == ")" and text[0] == "(" and k != last:
            return False
    return True


def tight(text: str) -> str:
    """Return text as an operand: in parentheses unless it is atomic."""
    return text if atomic(text) else f"({text})"


_CAST = re.compile(rf"\((?:{'|'.join(s.cuda for s in SCALARS.values())})\)")


def factor(text: str) -> str:
    """Return text as an operand of a binary operator: casts bind tighter, and need no parentheses."""
    rest = text
    while found := _CAST.match(rest):
        rest = rest[found.end() :]
    return text if atomic(rest) else f"({text})"


def expression(scope: Scope, node: tree.Expr) -> str:  # noqa: C901
    """Return an expression in C++."""
    e = typing.cast(tree.AnyExpr, node)
    match e:
        case tree.Const():
            return literal(e.value, e.type)
        case tree.Var():
            return variable(scope, e)
        case tree.Unary():
            return unary(scope, e)
        case tree.Binary():
            return binary(scope, e)
        case tree.Select():
            return select(scope, e)
        case tree.Cast():
            return cast(scope, e)
        case tree.Item():
            return item(scope, e)
        case tree.Element():
            return truth(scope, e, element(scope, e))
        case tree.Component():
            return truth(scope, e, component(scope, e))
        case tree.Id():
            return identity(scope, e)
        case tree.Count():
            return count(e)
        case tree.Place():
            return place(scope, e)
        case tree.Call():
            return call(scope, e)
        case tree.Apply():
            return apply(scope, e)
        case _:
            assert_never(e)


def variable(scope: Scope, e: tree.Var) -> str:
    """A name; for a view as a whole, the address of its first element."""
    if e.symbol in scope.bound:
        return scope.bound[e.symbol]
    if e.symbol.view is not None:
        return address(scope, e.symbol, ("0",) * len(e.symbol.view.params))
    return scope.names[e.symbol]


def narrow(type_: object) -> bool:
    """Whether C++ computes in `int` what has this type."""
    return isinstance(type_, Scalar) and (type_.kind == "bool" or (type_.integral and type_.bits < 32))


def unary(scope: Scope, e: tree.Unary) -> str:
    """`-x`, `~x`, `!x`, cast back where C++ widens."""
    text = f"{'!' if e.op == 'not' else e.op}{tight(expression(scope, e.operand))}"
    return f"({type_cuda(e.type)})({text})" if e.op != "not" and narrow(e.type) else text


LOGICAL = {"and": "&&", "or": "||"}
BOOLEAN = ("==", "!=", "<", "<=", ">", ">=", "and", "or")


def binary(scope: Scope, e: tree.Binary) -> str:
    """`a + b`, cast back where C++ widens; a remainder of floats by `fmod`."""
    left, right = expression(scope, e.left), expression(scope, e.right)
    if e.op == "%" and isinstance(e.type, Scalar) and e.type.kind == "float":
        return f"{'fmodf' if e.type.bits == 32 else 'fmod'}({left}, {right})"
    if e in scope.precise:
        return round_operation(e, e.op, left, right)
    if e.op == "*" and e.type == UINT16:
        left = f"(unsigned int){tight(left)}"  # C++ would multiply in `int`, where the product of two may overflow
    text = f"{factor(left)} {LOGICAL.get(e.op, e.op)} {factor(right)}"
    return f"({type_cuda(e.type)})({text})" if e.op not in BOOLEAN and narrow(e.type) else text


def select(scope: Scope, e: tree.Select) -> str:
    """`c ? a : b`."""
    condition, then, otherwise = (expression(scope, x) for x in (e.condition, e.then, e.otherwise))
    return f"{factor(condition)} ? {factor(then)} : {factor(otherwise)}"


def cast(scope: Scope, e: tree.Cast) -> str:
    """`(T)x`; out of a float of 16 bits by way of float, which holds it exactly."""
    operand = factor(expression(scope, e.operand))
    if isinstance(e.operand.type, Scalar) and e.operand.type.short and e.operand.type == e.type:
        return operand
    if isinstance(e.operand.type, Scalar) and e.operand.type.short and e.type != FLOAT32:
        operand = f"(float){operand}"
    return f"({type_cuda(e.type)}){operand}"


def item(scope: Scope, e: tree.Item) -> str:
    """An element of a local array, or of a thread's part of a fragment."""
    symbol, indices = resolve_views(scope, e.symbol, tuple(expression(scope, i) for i in e.indices))
    return scope.bound.get(symbol, scope.names[symbol]) + "".join(f"[{i}]" for i in indices)


def place_text(scope: Scope, e: tree.Expr) -> str:
    """Return what is assigned to."""
    match e:
        case tree.Element():
            return element(scope, e)
        case tree.Component():
            return component(scope, e)
        case _:
            return expression(scope, e)


TRUTH = """\
static __device__ __forceinline__ bool px_truth(const bool& x) {
    return reinterpret_cast<const unsigned char&>(x) != 0;
}"""


def truth(scope: Scope, e: tree.Element | tree.Component, text: str) -> str:
    """Return the text of what is read from memory, or out of a word that may have been: of a bool, whether its byte is not 0.

    A bool of C++ is 0 or 1, which its compilers rely on. An array's bytes are what the caller put there.
    """
    if not (isinstance(e.type, Scalar) and e.type.kind == "bool"):
        return text
    collect(scope.pieces, TRUTH)
    return f"px_truth({text})"


def component(scope: Scope, e: tree.Component) -> str:
    """A vector's component, or a struct's field."""
    if isinstance(e.vector.type, Struct):
        assert isinstance(e.index, tree.Const)
        return f"{tight(expression(scope, e.vector))}.{field_names(e.vector.type)[int(e.index.value)]}"
    return f"{tight(expression(scope, e.vector))}.item[{expression(scope, e.index)}]"


def element(scope: Scope, e: tree.Element) -> str:
    """An element of memory."""
    return place_of(scope, e.symbol, tuple(expression(scope, i) for i in e.indices))


def place_of(scope: Scope, symbol: tree.Symbol, indices: tuple[str, ...]) -> str:
    """Return `root[index]` for an element that may be named through views; several indices count row by row."""
    root, at = resolve_views(scope, symbol, indices)
    name, shape = scope.names[root], shape_of(root)
    if root.axes:
        return f"{name}[{_by_strides(scope, root, at)}]"
    tile = tile_of(root)
    if tile is not None and tile.swizzle:
        return f"*{_byte(name, offset_text(tile, *at))}"
    if blocks_of(root) > 1:
        name, shape, at = _of_block(scope, root, at[0]), shape[1:], at[1:]
    return f"{name}[{_flat(shape, at)}]"


def address(scope: Scope, symbol: tree.Symbol, indices: tuple[str, ...]) -> str:
    """Return the address of an element; that of element 0 of a root is its name."""
    root, at = resolve_views(scope, symbol, indices)
    if all(i == "0" for i in at) and blocks_of(root) == 1:
        return scope.names[root]
    place = place_of(scope, symbol, indices)
    return place[1:] if place.startswith("*") else f"&{place}"


def tile_start(scope: Scope, e: tree.Expr) -> str:
    """Return the address where a tile operand begins, before swizzling."""
    if not isinstance(e, tree.Element):
        return expression(scope, e)
    root, at = resolve_views(scope, e.symbol, tuple(expression(scope, i) for i in e.indices))
    tile = tile_of(root)
    if tile is None or not tile.swizzle:
        return address(scope, e.symbol, tuple(expression(scope, i) for i in e.indices))
    return _byte(scope.names[root], start_text(tile, *at))


def resolve_views(scope: Scope, symbol: tree.Symbol, indices: tuple[str, ...]) -> tuple[tree.Symbol, tuple[str, ...]]:
    """Follow a chain of views to the object behind it, or the copy of a ring: each maps the indices."""
    while symbol.view is not None:
        view = symbol.view
        inner = replace(scope, bound={**scope.bound, **dict(zip(view.params, indices, strict=True))})
        indices = tuple(expression(inner, i) for i in view.index)
        if is_copy(symbol):
            break
        symbol = view.source
    return symbol, indices


def tile_of(root: tree.Symbol) -> Pointer | None:
    """Return the type of a shared object, or of a ring's copy; None for other memory."""
    type_ = root.type if root.view is None else root.view.source.type
    return type_ if isinstance(type_, Pointer) and type_.shape is not None else None


def shape_of(root: tree.Symbol) -> tuple[int, ...]:
    """Return the shape of a shared object, a ring's copy or a local array; empty for memory of one index."""
    tile = tile_of(root)
    shape = tile.shape if tile is not None else root.type.shape if isinstance(root.type, Array) else None
    return shape or ()


def _by_strides(scope: Scope, root: tree.Symbol, at: tuple[str, ...]) -> str:
    """Return how far an array's element is from its first one, in elements: in 64 bits, as the strides are."""
    strides = (scope.names[stride] for _, stride in root.axes)
    terms = [f"{tight(index)} * {stride}" for index, stride in zip(at, strides, strict=True) if index != "0"]
    return " + ".join(terms) or "0"


def _flat(shape: tuple[int, ...], at: tuple[str, ...]) -> str:
    flat = at[0] if at else "0"
    for extent, index in zip(shape[1:], at[1:], strict=True):
        flat = f"{tight(flat)} * {extent} + {tight(index)}"
    return flat


def _byte(name: str, offset: str) -> str:
    """Return the address so many bytes after a tile's first."""
    return name if offset == "0" else f"px_byte({name}, {offset})"


def _of_block(scope: Scope, root: tree.Symbol, block: str) -> str:
    """Return the address of the part of an object that a block of the cluster has."""
    size = root.perspective.size
    if size == scope.cluster and block in scope.ranks:
        return scope.names[root]
    first = "" if size == scope.cluster else f"{rank_text()} / {size} * {size} + "
    return map_text(scope.names[root], first + (tight(block) if first else block))


def place(scope: Scope, e: tree.Place) -> str:
    """The row or the column of an element of this thread's part of a fragment."""
    fragment = e.symbol.type
    assert isinstance(fragment, Fragment)
    strips = f"<{fragment.strip}>" if fragment.size > fragment.strip else ""
    thread, index = f"threadIdx.x % {fragment.threads}u", expression(scope, e.index)
    of = "operand_" if fragment.operand else ""
    return f"px_{of}{'column' if e.axis else 'row'}{strips}({thread}, {index})"


# -- positions --------------------------------------------------------------------------------------------------------


def thread_in(code: Perspective, position: Position, wide: bool = False) -> str:
    """Return the thread's index inside the current unit of `code`; `wide`: in 64 bits."""
    if in_one_block(code):
        return position.thread
    return f"{WIDE if wide else ''}{tight(position.block)} * blockDim.x + {tight(position.thread)}"


WIDE = "(unsigned long long)"


def in_one_block(code: Perspective) -> bool:
    """Whether units of `code` are parts of a block, or one."""
    return code.level == Level.THREAD or (code.level == Level.BLOCK and code.size == 1)


def _wide(e: tree.Id | tree.Count) -> bool:
    """Whether it is counted in 64 bits."""
    return isinstance(e.type, Scalar) and e.type.bits == 64


def divide(text: str, by: int) -> str:
    """Return `text / by`, unsigned."""
    return text if by == 1 else f"{tight(text)} / {by}u"


def identity(scope: Scope, e: tree.Id) -> str:
    """`id(unit)`: the index of the thread, or of its block, divided by the unit's size."""
    if e.unit == e.code or e.unit.level == Level.GRID:
        return literal(0, e.type)
    position = scope.position_of(e.code)
    if position.warp and e.unit.level == Level.THREAD and e.unit.size % WARP == 0 and in_one_block(e.code):
        return f"({type_cuda(e.type)}){tight(divide(position.warp, e.unit.size // WARP))}"
    index = position.block if e.unit.level == Level.BLOCK else thread_in(e.code, position, _wide(e))
    return f"({type_cuda(e.type)}){tight(divide(index, e.unit.size))}"


def count(e: tree.Count) -> str:
    """`count(unit)`: a constant where only threads, or only blocks of a cluster, are counted."""
    if e.unit.level == e.code.level:
        number = str(e.code.size // e.unit.size)
    elif e.code.level == Level.BLOCK:
        threads = "blockDim.x" if e.code.size == 1 else f"{e.code.size}u * blockDim.x"
        number = divide(threads, e.unit.size)
    elif e.unit.level == Level.BLOCK:
        number = divide("gridDim.x", e.unit.size)
    else:
        number = divide(f"{WIDE if _wide(e) else ''}gridDim.x * blockDim.x", e.unit.size)
    return literal(int(number), e.type) if number.isdigit() else f"({type_cuda(e.type)}){tight(number)}"


# -- calls ------------------------------------------------------------------------------------------------------------


def call(scope: Scope, e: tree.Call) -> str:
    """A device function: its arguments, where the thread stands inside the callee's unit, the frame's start."""
    arguments = [expression(scope, a) for a in e.arguments]
    if e.function in scope.positioned:
        position, inner = scope.position_of(e.code), e.function.bound.code
        thread, block = position.thread, position.block
        if inner.level == Level.THREAD and inner != e.code:
            thread = remainder(thread, inner.size)
        if inner.level == Level.BLOCK and inner != e.code:
            block = remainder(block, inner.size)
        arguments += [thread, block, scope.frame(scope.layout.frame.get(id(e), 0))]
    if e.function.cooperative:
        arguments.append(GRID_WORD)
    if has_gathers(e.function):
        arguments.append(ROUND)
    return f"{e.function.identifier}({', '.join(arguments)})"


def remainder(text: str, by: int) -> str:
    """Return `text % by`, unsigned."""
    return "0u" if by == 1 else f"{tight(text)} % {by}u"


def apply(scope: Scope, e: tree.Apply) -> str:
    """An intrinsic: elements and tiles go by address; its helpers are collected."""
    binding = binding_of(e)
    texts: list[str] = []
    for parameter, argument in operands_of(e):
        texts += operand(scope, parameter.kind, argument)
        if isinstance(argument, tree.Element) and argument.symbol.root() not in scope.unwritten:
            binding = replace(binding, const=binding.const - {parameter.name})
    if e in scope.precise:
        return round_operation(e, operator(e) or "", *texts)
    if e.intrinsic.preamble is not None:
        collect(scope.pieces, e.intrinsic.preamble(binding))
    more: dict[str, object] = {}
    if e in scope.completes:
        more["barrier"] = scope.completes[e]
    if e.intrinsic.name == "set_registers" and scope.registers is not None:
        more["launched"] = scope.registers
    return e.intrinsic.cuda(binding, *texts, **more)


def operand(scope: Scope, kind: str, e: tree.Expr) -> list[str]:
    """Return an operand's text; that of a tensor map's element is the map's address and an index an extent."""
    match kind, e:
        case "element", tree.Element():
            return [address(scope, e.symbol, tuple(expression(scope, i) for i in e.indices))]
        case "tile", _:
            return [tile_start(scope, e)]
        case "tensor", tree.Element():
            return [f"&{scope.names[e.symbol]}", *(expression(scope, i) for i in e.indices)]
        case "tensor" | "map", tree.Var(symbol=symbol) if isinstance(symbol.type, TensorMap):
            return [f"&{scope.names[symbol]}"]
        case _:
            return [expression(scope, e)]


def collect(pieces: dict[str, None], preamble: str) -> None:
    """Add the pieces of a preamble, which blank lines separate."""
    pieces.update((piece.strip("\n"), None) for piece in preamble.split("\n\n") if piece.strip())


def uses_vectors(type_: object) -> bool:
    """Whether declaring this type needs the vector template."""
    return isinstance(type_, Vector) or (isinstance(type_, (Array, Pointer)) and uses_vectors(type_.element))
