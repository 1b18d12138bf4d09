"""What a kernel takes, for `help`, `inspect.signature` and editors: as it is written, for the annotations are Prism's types."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from inspect import Parameter, Signature
from types import FunctionType
from typing import Any

from prism.lang.keep.help_text import Written

DEDUCED = Written("...")
"""The default of a template parameter that the other arguments tell: their types have it."""


def signature_of(python: FunctionType, template: Mapping[str, Any], defaults: Mapping[str, Any]) -> Signature:
    """Return a kernel's parameters with their types and perspectives, and its template's, by keyword: first what must be given.

    Where there is no text to read, annotations are what Python has of them.
    """
    plain = inspect.signature(python)
    written = _annotations(python)
    taken = [p.replace(annotation=written.get(p.name, p.annotation)) for p in plain.parameters.values()]
    told = {name for p in taken for name in _named(str(p.annotation))}
    named = [
        Parameter(
            name,
            Parameter.KEYWORD_ONLY,
            annotation=_kind(kind),
            default=_default(defaults[name]) if name in defaults else DEDUCED if name in told else Parameter.empty,
        )
        for name, kind in template.items()
    ]
    named.sort(key=lambda p: p.default is not Parameter.empty)
    return Signature([*taken, *named], return_annotation=written.get("return", plain.return_annotation))


def _annotations(python: FunctionType) -> dict[str, Written]:
    try:
        (node,) = ast.parse(textwrap.dedent(inspect.getsource(python))).body
    except (OSError, TypeError, SyntaxError, ValueError):
        return {}
    if not isinstance(node, ast.FunctionDef):
        return {}
    every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    found = {a.arg: a.annotation for a in every} | {"return": node.returns}
    return {name: Written(ast.unparse(e)) for name, e in found.items() if e is not None}


def _named(annotation: str) -> Iterator[str]:
    """The names that a type is made of, as `T` and `ITEMS` of `T[ITEMS] @ thread[1]`: those that an argument tells."""
    try:
        left = [ast.parse(annotation, mode="eval").body]
    except SyntaxError:
        return
    while left:
        match left.pop():
            case ast.Name(id=name):
                yield name
            case ast.BinOp(left=type_, op=ast.MatMult()):
                left.append(type_)
            case ast.Subscript(value=base, slice=index):
                left += [base, *(index.elts if isinstance(index, ast.Tuple) else [index])]
            case ast.Call(args=arguments, keywords=options):
                left += [*arguments, *(o.value for o in options if o.arg == "swizzle")]


def _default(value: Any) -> Any:
    """How the default of a template parameter is shown: a type or a function by its name, what is computed as what is deduced."""
    if isinstance(value, bool | int | float):
        return value
    name = getattr(value, "__name__", str(value))
    return DEDUCED if name == "<lambda>" else Written(name)


def _kind(kind: Any) -> Written:
    """How the kind of a template parameter is written: `dtype`, `function`, `constexpr(int)`."""
    args = ", ".join(getattr(a, "__name__", str(a)) for a in getattr(kind, "args", ()))
    name = getattr(kind, "name", None) or getattr(kind, "__name__", str(kind))
    return Written(f"{name}({args})" if args else name)
