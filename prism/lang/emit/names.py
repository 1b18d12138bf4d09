"""Names, types, literals and comments in C++.

The compiler's own names begin with `px_`; those of the program's functions do not, nor do those of its variables.
"""

from __future__ import annotations

import functools
import math
import re
import struct
from collections.abc import Iterator, Mapping

from prism.lang.intrinsics.mailboxes import mailbox_cuda
from prism.lang.intrinsics.memory import vector_cuda
from prism.lang.place import statements
from prism.lang.shorts import short_bits
from prism.lang.tree import Async, Claim, Declare, For, Function, Partition, SharedDeclare, Stmt, Symbol
from prism.lang.types import Array, Fragment, Mailbox, Pointer, Scalar, TensorMap, Type, Vector

# C++ keywords and alternative tokens, what CUDA predeclares, macros of NVRTC: no variable may be called so.
_WORDS = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t class compl
    concept const const_cast constexpr consteval constinit continue co_await co_return co_yield decltype default
    delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline int
    long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register
    reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch template
    this thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t
    while xor xor_eq threadIdx blockIdx blockDim gridDim warpSize memcpy fmod fmodf main NULL INFINITY NAN linux
    unix
"""
RESERVED = frozenset(_WORDS.split())
GRID_WORD = "px_grid"
"""The parameter that cooperative kernels and functions have behind all others: the word at which all blocks meet."""
_VECTORS = re.compile(r"(u?(char|short|int|long|longlong)|float|double)[1-4]|dim3")


def identifier(name: str, taken: set[str]) -> str:
    """Return a C++ identifier for a user's name that is not yet `taken`, and take it."""
    plain = _plain(name)
    found, count = plain, 1
    while found in taken or found in RESERVED:
        count += 1
        found = f"{plain.rstrip('_')}_{count}"
    taken.add(found)
    return found


@functools.lru_cache(maxsize=4096)
def _plain(name: str) -> str:
    plain = re.sub(r"[^A-Za-z0-9_]", lambda m: f"u{ord(m[0]):x}", name.replace(" ", "_"))
    plain = re.sub(r"__+", "_", plain)
    if plain in RESERVED or _VECTORS.fullmatch(plain) or re.match(r"_|px_", plain):
        plain = f"{plain.lstrip('_')}_" if not plain.lstrip("_").startswith("px_") else f"my_{plain.lstrip('_')}"
    return f"x{plain}" if re.match(r"[0-9_]|$", plain) else plain


def symbol_names(function: Function, taken: frozenset[str]) -> Mapping[Symbol, str]:
    """Name all symbols of a function, in the order of their declaration; of the views, only copies of rings have a name."""
    used = set(taken)
    names: dict[Symbol, str] = {}
    for symbol in (*function.parameters, *(s for statement in statements(function.body) for s in _declared(statement))):
        if symbol not in names:
            names[symbol] = identifier(symbol.name, used)
    return names


def _declared(statement: Stmt) -> Iterator[Symbol]:
    match statement:
        case Declare() | SharedDeclare() | For():
            yield statement.symbol
        case Partition() | Claim() | Async():
            if is_copy(statement.view):
                yield statement.view
            if statement.view.view is not None and statement.view.view.offset is not None:
                yield statement.view.view.offset[0]
        case _:
            pass


def is_copy(symbol: Symbol) -> bool:
    """Whether a symbol is a view of a ring: it names the copy of the present visit, which has an address of its own."""
    if symbol.view is None or symbol.view.source.view is not None:
        return False
    type_ = symbol.view.source.type
    return isinstance(type_, Pointer) and type_.ring > 0


# -- types ------------------------------------------------------------------------------------------------------------


def element_cuda(element: Scalar | Vector | Mailbox) -> str:
    """Return the C++ type of what a pointer points to."""
    match element:
        case Vector():
            return vector_cuda(element.element, element.length)
        case Mailbox():
            return mailbox_cuda(element.element)
        case Scalar():
            return element.cuda


def type_cuda(type_: Type) -> str:
    """Return the C++ type of a value; an array's is its element's, whose declarator carries the shape."""
    match type_:
        case Scalar() | Vector():
            return element_cuda(type_)
        case Array() | Fragment():
            return element_cuda(type_.element)
        case Pointer():
            return f"{'const ' if type_.const else ''}{element_cuda(type_.element)}*"
        case TensorMap():
            return "px_tensor_map"
        case _:
            return "void"


def declarator(type_: Type, name: str) -> str:
    """Return `int x`, `int x[4][2]`."""
    return f"{type_cuda(type_)} {name}{''.join(f'[{n}]' for n in registers(type_))}"


def registers(type_: Type) -> tuple[int, ...]:
    """Return the extents of the C++ array in which a thread keeps an array, or its part of a fragment; else none."""
    return type_.shape if isinstance(type_, Array) else (type_.size,) if isinstance(type_, Fragment) else ()


# -- literals ---------------------------------------------------------------------------------------------------------


def literal(value: bool | int | float, type_: Type) -> str:
    """Return a C++ expression of exactly this value and type."""
    assert isinstance(type_, Scalar)
    if type_.kind == "bool":
        return "true" if value else "false"
    if type_.kind == "float":
        return _float_literal(float(value), type_)
    return _int_literal(int(value), type_)


def _int_literal(value: int, type_: Scalar) -> str:
    value %= 1 << type_.bits
    if type_.kind == "int" and value >> (type_.bits - 1):
        value -= 1 << type_.bits
    suffix = {"int32": "", "int64": "LL", "uint32": "u", "uint64": "ULL"}.get(type_.name)
    if suffix is None:
        return f"({type_.cuda}){value if value >= 0 else f'({value})'}"
    if value >= 0:
        return f"{value}{suffix}"
    if value == -(1 << (type_.bits - 1)):
        return f"(-{-value - 1}{suffix} - 1)"
    return f"(-{-value}{suffix})"


def _float_literal(value: float, type_: Scalar) -> str:
    if type_.short:
        return f"{type_.cuda}_of({short_bits(value, type_):#06x}u)"
    code, bits, suffix = ("f", "I", "f") if type_.bits == 32 else ("d", "Q", "")
    try:
        packed = struct.pack(f"<{code}", value)
    except OverflowError:
        packed = struct.pack(f"<{code}", math.copysign(math.inf, value))
    exact: float = struct.unpack(f"<{code}", packed)[0]
    if not math.isfinite(exact):
        word: int = struct.unpack(f"<{bits}", packed)[0]
        return f"__uint_as_float({word:#x}u)" if type_.bits == 32 else f"__longlong_as_double((long long){word:#x}ULL)"
    text = repr(abs(exact)) if abs(exact) * 8 == int(abs(exact) * 8) < 1e9 else abs(exact).hex()
    return f"(-{text}{suffix})" if math.copysign(1, exact) < 0 else f"{text}{suffix}"


# -- comments ---------------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=4096)
def comment(text: str) -> str:
    """Return text that can stand in a comment: on one line, and unable to end it or to continue it."""
    text = text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)
    text = " ".join(text.split())
    return text.replace("\\", "/").replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?")
