"""What `@attr` puts on the emitted function: names replaced, and the numbers of `__launch_bounds__` worked out."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import NamedTuple

from prism.lang import surface
from prism.lang.check.env import fail
from prism.lang.diagnostics import Span
from prism.lang.errors import names as errors
from prism.lang.facts.budget import MOST_THREADS
from prism.lang.keep.records import is_record_class
from prism.lang.parse.expressions import OPERATORS
from prism.lang.parse.instantiate import arithmetic
from prism.lang.parse.records import read_attribute
from prism.lang.surface import bindings

_TOKENS = re.compile(r"(?:[A-Za-z0-9_]+|[ ,:+*%<>=&|!~.-]|/(?![/*])|[()\[\]])*")
_BOUNDS = re.compile(r"__launch_bounds__\s*(?=\()")
_NAMES = re.compile(r"\b[A-Za-z_]\w*")
ATTRIBUTES = ("__launch_bounds__", "__maxnreg__", "__noinline__", "__forceinline__")
"""Those that say nothing of what the compiler decides, as whether blocks are clusters, what a function reads, whether it ends."""


class Attributes(NamedTuple):
    """The attributes' texts, and the numbers of `__launch_bounds__`: of several, those of the smallest block."""

    texts: tuple[str, ...]
    launch_bounds: tuple[int, ...]


def attributes_of(kernel: surface.Kernel, template: Mapping[str, object], span: Span) -> Attributes:
    """Return the attributes. Fails with code `name` where one is none, or launch bounds are not numbers of 1 or more."""
    found = [_attribute(kernel, template, text, span) for text in kernel.attributes]
    texts = tuple(text for text, _ in found)
    if not all(map(_is_closed, texts)):
        fail(errors.AttributeText(span=span))
    for name in _NAMES.findall(" ".join(texts)):
        if name not in ATTRIBUTES:
            change = errors.ATTRIBUTES.get(name, f"write one of these: {', '.join(f'`{one}`' for one in ATTRIBUTES)}")
            fail(errors.AttributeName(span=span, name=name, change=change))
    return Attributes(texts, min((numbers for _, numbers in found if numbers), default=()))


def _is_closed(text: str) -> bool:
    """Whether an attribute is one: without a quote, a comment, a brace or `;`, and with all that it opens closed."""
    opened: list[str] = []
    for c in text:
        if c in "([":
            opened.append(c)
        elif c in ")]" and (not opened or opened.pop() + c not in ("()", "[]")):
            return False
    return not opened and _TOKENS.fullmatch(text) is not None


def _attribute(
    kernel: surface.Kernel, template: Mapping[str, object], text: str, span: Span
) -> tuple[str, tuple[int, ...]]:
    """Return the text that is emitted, and the numbers of the launch bounds in it."""
    found = _BOUNDS.search(text)
    end = -1 if found is None else _closing(text, found.end())
    if found is None or end < 0:
        return _fill(text, template, span), ()
    numbers = _numbers(kernel, template, text[found.end() : end], span)
    before, behind = (_fill(part, template, span) for part in (text[: found.start()], text[end:]))
    written = f"{before}__launch_bounds__({', '.join(map(str, numbers))}{behind}"
    return written, numbers


def _closing(text: str, opening: int) -> int:
    """Return where the parenthesis that opens there is closed."""
    depth = 0
    for at in range(opening, len(text)):
        depth += (text[at] == "(") - (text[at] == ")")
        if depth == 0:
            return at
    return -1


def _fill(text: str, template: Mapping[str, object], span: Span) -> str:
    """Return the text with template parameters replaced by their numbers."""

    def value(match: re.Match[str]) -> str:
        name, dot, attribute = match.group(0).partition(".")
        found = template.get(name)
        if dot and is_record_class(type(found)):
            found = read_attribute(found, name, attribute, span)
        return str(int(found)) if isinstance(found, bool | int) else match.group(0)

    return re.sub(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)?", value, text)


def _numbers(kernel: surface.Kernel, template: Mapping[str, object], text: str, span: Span) -> tuple[int, ...]:
    """Return the numbers of `(THREADS, BLOCKS)`, of which the parenthesis is not closed."""
    try:
        call = ast.parse(f"f{text})", mode="eval").body
    except SyntaxError:
        fail(errors.AttributeNumber(span=span, text=text[1:].strip(), why="is no arithmetic"))
    assert isinstance(call, ast.Call)
    numbers = tuple(_number(kernel, template, node, span) for node in call.args)
    if numbers and numbers[0] > MOST_THREADS:
        why = f"is {numbers[0]}, and a block has at most {MOST_THREADS} threads"
        fail(errors.AttributeNumber(span=span, text=_spell(call.args[0]), why=why))
    return numbers


def _spell(node: ast.expr) -> str:
    try:
        return ast.unparse(node)
    except ValueError:  # Python writes no number of more than 4,300 digits
        return "a number"


def _number(kernel: surface.Kernel, template: Mapping[str, object], node: ast.expr, span: Span) -> int:
    try:
        value = _value(kernel, template, node, span)
    except (LookupError, TypeError, ValueError, ZeroDivisionError, OverflowError):
        value = None
    if type(value) is not int or not 1 <= value < 2**31:
        found = "no number known at compile time"
        if value is not None:
            found = "too large" if abs(value) >= 2**31 else f"{value}, and must be a whole number from 1 on"
        fail(errors.AttributeNumber(span=span, text=_spell(node), why=f"is {found}"))
    return value


def _value(kernel: surface.Kernel, template: Mapping[str, object], node: ast.expr, span: Span) -> bool | int | float:
    """Return what an expression of numbers and names is, as in a kernel's body. Raises LookupError, or what arithmetic raises."""
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.Name() | ast.Attribute(value=ast.Name()):
            found = _object(kernel, template, node, span)
            found = found.item() if hasattr(found, "item") and getattr(found, "shape", None) == () else found
            if isinstance(found, bool | int | float):
                return found
            raise LookupError
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(kernel, template, operand, span)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            operands = (_value(kernel, template, side, span) for side in (left, right))
            return arithmetic(OPERATORS[type(op)], *operands)
        case _:
            raise LookupError(ast.unparse(node))


def _object(kernel: surface.Kernel, template: Mapping[str, object], e: ast.Name | ast.Attribute, span: Span) -> object:
    """Return what a name stands for: a template argument, or a number from around the function; or an attribute of a record."""
    if isinstance(e, ast.Attribute):
        assert isinstance(e.value, ast.Name)
        record = _object(kernel, template, e.value, span)
        return read_attribute(record, e.value.id, e.attr, span) if is_record_class(type(record)) else None
    name = e.id
    code = kernel.python.__code__
    cells = dict(zip(code.co_freevars, kernel.python.__closure__ or (), strict=False))
    if name in template:
        return template[name]
    bindings.note(kernel.python, name)
    return cells[name].cell_contents if name in cells else kernel.python.__globals__[name]
