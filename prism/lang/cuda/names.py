"""Names, types, literals and comments in C++: no other file writes a text of the user's.

A name of the user's is never C++'s as it stands. Each gets one of our own, which keeps what it can of it: a variable, a field and
an operand end in `_`, as `rows_`; a function begins with `prism_`. All are of ASCII letters, digits and `_`, begin with a letter,
and have no `__`. No keyword, no macro and no function of CUDA's has such a name, and none that the compiler makes up, which begin
with `px_`, ends in `_`: so whatever a user's name is, it means nothing but its own variable. Names are told apart by the set of
those `taken`, not by how they are spelled. Other texts of the user's stand in comments and in literals, which they cannot end.
"""

from __future__ import annotations

import functools
import math
import re
import struct
from collections.abc import Collection, Iterator, Mapping

from prism.lang import tree
from prism.lang.diagnostics import Span
from prism.lang.intrinsics.mailboxes import mailbox_cuda
from prism.lang.intrinsics.memory import vector_cuda
from prism.lang.tree.walk import statements
from prism.lang.types import Array, Fragment, Mailbox, Pointer, Scalar, TensorMap, Type, Vector
from prism.lang.types.shorts import short_bits
from prism.lang.types.structs import Struct

GRID_WORD = "px_grid"
"""The parameter that cooperative kernels and functions have behind all others: the word at which all blocks meet."""
NEEDS = "// NVRTC {}.{} or later: "
"""What a line of a text begins with that other compilers would make wrong code of; the rest is why."""
_LONGEST = 80


def variable_name(name: str, taken: set[str]) -> str:
    """Return the C++ name of a variable, a field or an operand, `x_` of `x`: none of those `taken`. Takes it."""
    found = f"{plain(name)}_"
    count = 1
    while found in taken:
        count += 1
        found = f"{plain(name)}_{count}_"
    taken.add(found)
    return found


def function_name(name: str, taken: Collection[str], before: str = "prism_") -> str:
    """Return the C++ name of a function, `prism_f` of `f`: none of those `taken`.

    A kernel's is seen from outside, as the name of its machine code: letters of ASCII, digits and `_` stand in it as they are.
    """
    spelled = re.sub(r"[^A-Za-z0-9_]", "_", name)
    spelled = f"{before}{spelled}" if len(spelled) <= _LONGEST else f"{before}{spelled[:_LONGEST]}"
    found, count = spelled, 1
    while found in taken:
        count += 1
        found = f"{spelled}_{count}"
    return found


@functools.lru_cache(maxsize=4096)
def plain(name: str) -> str:
    """Return what there is in a name of ASCII letters and digits, and of single `_` between them."""
    shown = re.sub(r"[^A-Za-z0-9_]", lambda m: f"u{ord(m[0]):x}" if m[0].isalnum() else "_", name[:_LONGEST])
    shown = re.sub(r"__+", "_", shown).strip("_")
    return shown if shown[:1].isalpha() else f"x{shown}"


@functools.lru_cache(maxsize=1024)
def field_names(struct: Struct) -> tuple[str, ...]:
    """Return what a struct's fields are called in C++, in their order."""
    taken: set[str] = set()
    return tuple(variable_name(name, taken) for name in struct.names)


def symbol_names(function: tree.Function, taken: frozenset[str]) -> Mapping[tree.Symbol, str]:
    """Name all symbols of a function, in the order of their declaration; of the views, only copies of rings have a name."""
    used = set(taken)
    names: dict[tree.Symbol, str] = {}
    for symbol in (
        *function.parameters,
        *(s for statement in statements(function.body) for s in _declared_symbols(statement)),
    ):
        if symbol not in names:
            names[symbol] = variable_name(symbol.name, used)
    return names


def _declared_symbols(statement: tree.Stmt) -> Iterator[tree.Symbol]:
    match statement:
        case tree.Declare() | tree.SharedDeclare() | tree.For():
            yield statement.symbol
        case tree.Partition() | tree.Claim() | tree.Async():
            if is_copy(statement.view):
                yield statement.view
            if statement.view.view is not None and statement.view.view.offset is not None:
                yield statement.view.view.offset[0]
        case _:
            pass


def is_copy(symbol: tree.Symbol) -> bool:
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


def is_laid_anew(type_: Type) -> bool:
    """Whether a thread keeps its part of a fragment twice: as it is indexed, and as a wgmma takes it for its first operand.

    One that is declared as an `operand` it keeps once.
    """
    return isinstance(type_, Fragment) and type_.threads == 128 and type_.element.bytes == 1 and not type_.operand


def declarator(type_: Type, name: str) -> str:
    """Return `int x`, `int x[4][2]`."""
    if isinstance(type_, Fragment) and is_laid_anew(type_):
        return f"px_held<{type_.element.cuda}, {type_.size}> {name}"
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


# -- text of the user's -----------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=4096)
def comment(text: str) -> str:
    """Return text that can stand in a comment: on one line, and unable to end it, to continue it, or to turn its direction."""
    text = text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)
    text = " ".join(text.split())
    return text.replace("\\", "/").replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?")


def quote(text: str) -> str:
    """Return a C++ string literal of a text in UTF-8. A NUL, which would end it, and half of a pair are spelled as in Python."""
    shown = text.replace("\0", "\\0").encode("utf-8", "backslashreplace")
    return '"' + "".join(chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in shown) + '"'


def file_of(span: Span) -> str:
    """Return a file's name without its folders: the text must not depend on where it lies."""
    return span.file.replace("\\", "/").rpartition("/")[2]
