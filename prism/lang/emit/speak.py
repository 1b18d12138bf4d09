"""`assert_` and `print_` in C++: by the first thread of each unit, with where it stands."""

from __future__ import annotations

from prism.lang.cuda.names import file_of, quote
from prism.lang.emit.expressions import Scope, expression, factor, tight
from prism.lang.tree import Assert, Expr, Print, Scalar
from prism.lang.types.perspective import Level, Perspective

ASSERT = """\
extern "C" __device__ void __assertfail(const char*, const char*, unsigned int, const char*, size_t);
"""


def first_thread(scope: Scope, code: Perspective) -> str:
    """Return the test for the first thread of the code's unit, or the empty string for one thread's code."""
    here = scope.here
    if code == Perspective(Level.THREAD, 1):
        return ""
    test = f"{tight(here.thread)} == 0u"
    one = code.level == Level.THREAD or (code.level == Level.BLOCK and code.size == 1)
    return test if one else f"{test} && {tight(here.block)} == 0u"


def print_lines(scope: Scope, s: Print) -> list[str]:
    """`printf`, with the unit's number before the text."""
    form, arguments = _unit(s.code)
    values = iter(s.values)
    for text in s.texts:
        if text is None:
            spec, argument = _conversion(scope, next(values))
            form, arguments = form + spec, [*arguments, argument]
        else:
            form += text.replace("%", "%%")
    call = f"printf({', '.join([quote(form + chr(10)), *arguments])});"
    test = first_thread(scope, s.code)
    return [f"if ({test}) {call}" if test else call]


def assert_lines(scope: Scope, s: Assert, function: str) -> list[str]:
    """The device's own assertion: it prints the text, the block and the thread, and ends the kernel."""
    scope.pieces[ASSERT.strip("\n")] = None
    test = first_thread(scope, s.code)
    failed = f"!({expression(scope, s.condition)})"
    text = f"{s.text or 'assert_'} (at {s.code})"
    where = f"{quote(text)}, {quote(file_of(s.span))}, {s.span.line}u, {quote(function)}, 1"
    return [f"if ({failed}{f' && {test}' if test else ''}) __assertfail({where});"]


def _unit(code: Perspective) -> tuple[str, list[str]]:
    if code.level == Level.THREAD:
        name = "thread" if code.size == 1 else str(code)
        index = "threadIdx.x" if code.size == 1 else f"threadIdx.x / {code.size}u"
        return f"{name} %u of block %u: ", [index, "blockIdx.x"]
    if code.level == Level.BLOCK:
        name, index = ("block", "blockIdx.x") if code.size == 1 else (str(code), f"blockIdx.x / {code.size}u")
        return f"{name} %u: ", [index]
    return "", []


def _conversion(scope: Scope, e: Expr) -> tuple[str, str]:
    assert isinstance(e.type, Scalar)
    text = factor(expression(scope, e))
    match e.type.kind, e.type.bits:
        case "bool", _:
            return "%s", f'({text} ? "True" : "False")'
        case "float", bits:
            return "%g", f"(double){'(float)' if bits <= 16 else ''}{text}"
        case "int", 64:
            return "%lld", f"(long long){text}"
        case "uint", 64:
            return "%llu", f"(unsigned long long){text}"
        case "int", _:
            return "%d", f"(int){text}"
        case _:
            return "%u", f"(unsigned int){text}"
